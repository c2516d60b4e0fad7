#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// One `normalizer` of a tokenizer.json. Immutable; may be called by many threads at once.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  virtual void apply(AlignedText& text) const = 0;
};

/// Factory of a normalizer from its JSON object. Throws data::Error.
using MakeNormalizer = std::unique_ptr<Normalizer> (*)(const JsonFields& fields);

std::unique_ptr<Normalizer> make_bert_normalizer(const JsonFields& fields);
std::unique_ptr<Normalizer> make_unicode_normalizer(
    const JsonFields& fields);  // NFC, NFD, NFKC, NFKD
std::unique_ptr<Normalizer> make_strip_accents(const JsonFields& fields);
std::unique_ptr<Normalizer> make_lowercase(const JsonFields& fields);
std::unique_ptr<Normalizer> make_replace(const JsonFields& fields);
std::unique_ptr<Normalizer> make_strip(const JsonFields& fields);
std::unique_ptr<Normalizer> make_prepend(const JsonFields& fields);
std::unique_ptr<Normalizer> make_precompiled(const JsonFields& fields);
std::unique_ptr<Normalizer> make_byte_level_normalizer(const JsonFields& fields);
std::unique_ptr<Normalizer> make_nmt(const JsonFields& fields);

/// Created by the object's `type`, from the table in normalizer.cpp. Throws data::Error.
std::unique_ptr<Normalizer> make_normalizer(const JsonFields& fields);

/// The four Unicode normalisation forms (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

void apply_form(AlignedText& text, UnicodeForm form);

/// Removes the code points of a class (CodepointClass).
AlignedText without_marks(const AlignedText& text, uint8_t mark);

/// Lower-cases each code point independently.
AlignedText lowered(const AlignedText& text);

}  // namespace weft::data
