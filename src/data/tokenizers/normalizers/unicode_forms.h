#pragma once

#include <cstdint>

#include "data/tokenizers/aligned_text.h"

namespace weft::data {

/// The four normalisation forms of Unicode (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

void apply_form(AlignedText& text, UnicodeForm form);

/// Without the code points of a class (CodepointClass).
AlignedText without_marks(const AlignedText& text, uint8_t mark);

/// Each code point in lower case by itself.
AlignedText lowered(const AlignedText& text);

}  // namespace weft::data
