#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

#include <array>
#include <utility>

namespace weft::data {

namespace {

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const JsonFields& fields) {
    for (const formats::Json& part : fields.list("pretokenizers")) {
      parts_.push_back(make_pre_tokenizer(JsonFields(part, fields.location() + ".pretokenizers")));
    }
  }

  void apply(Words& words) const override {
    for (const auto& part : parts_) {
      part->apply(words);
    }
  }

  bool keep_bytes() override { return !parts_.empty() && parts_.back()->keep_bytes(); }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> make_pre_tokenizer_sequence(const JsonFields& fields) {
  return std::make_unique<PreTokenizerSequence>(fields);
}

constexpr std::array<std::pair<std::string_view, MakePreTokenizer>, 10> kPreTokenizers = {{
    {"Sequence", make_pre_tokenizer_sequence},
    {"BertPreTokenizer", make_bert_pre_tokenizer},
    {"WhitespaceSplit", make_whitespace_split},
    {"ByteLevel", make_byte_level},
    {"Metaspace", make_metaspace},
    {"Split", make_split},
    {"Digits", make_digits},
    {"Punctuation", make_punctuation},
    {"CharDelimiterSplit", make_delimiter_split},
    {"Whitespace", make_whitespace},
}};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonFields& fields) {
  return fields.choose("type", fields.text("type"), kPreTokenizers)(fields);
}

}  // namespace weft::data
