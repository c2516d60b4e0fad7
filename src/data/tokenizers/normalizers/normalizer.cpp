#include "data/tokenizers/normalizers/normalizer.h"

#include <array>
#include <utility>

namespace weft::data {

namespace {

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(const JsonFields& fields) {
    for (const formats::Json& part : fields.list("normalizers")) {
      parts_.push_back(make_normalizer(JsonFields(part, fields.location() + ".normalizers")));
    }
  }

  void apply(AlignedText& text) const override {
    for (const auto& part : parts_) {
      part->apply(text);
    }
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

std::unique_ptr<Normalizer> make_normalizer_sequence(const JsonFields& fields) {
  return std::make_unique<NormalizerSequence>(fields);
}

constexpr std::array<std::pair<std::string_view, MakeNormalizer>, 14> kNormalizers = {{
    {"Sequence", make_normalizer_sequence},
    {"BertNormalizer", make_bert_normalizer},
    {"NFC", make_unicode_normalizer},
    {"NFD", make_unicode_normalizer},
    {"NFKC", make_unicode_normalizer},
    {"NFKD", make_unicode_normalizer},
    {"StripAccents", make_strip_accents},
    {"Lowercase", make_lowercase},
    {"Replace", make_replace},
    {"Strip", make_strip},
    {"Prepend", make_prepend},
    {"Precompiled", make_precompiled},
    {"ByteLevel", make_byte_level_normalizer},
    {"Nmt", make_nmt},
}};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonFields& fields) {
  return fields.choose("type", fields.text("type"), kNormalizers)(fields);
}

}  // namespace weft::data
