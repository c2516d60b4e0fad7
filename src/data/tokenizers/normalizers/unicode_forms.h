#pragma once

#include <cstdint>

#include "data/tokenizers/aligned_text.h"

namespace weft::data {

/// The four Unicode normalisation forms (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

void apply_form(AlignedText& text, UnicodeForm form);

/// Removes the code points of a class (CodepointClass).
AlignedText without_marks(const AlignedText& text, uint8_t mark);

/// Lower-cases each code point independently.
AlignedText lowered(const AlignedText& text);

}  // namespace weft::data
