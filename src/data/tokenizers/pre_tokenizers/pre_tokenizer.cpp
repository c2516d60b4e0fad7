#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

#include <array>
#include <utility>

#include "base/string_util.h"

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
  const std::string type = fields.text("type");
  std::vector<std::string> known;
  for (const auto& [name, make] : kPreTokenizers) {
    if (name == type) {
      return make(fields);
    }
    known.emplace_back(name);
  }
  fields.fail("type", weft::str_cat("'", printable(type), "' is not one of ", join(known)));
}

}  // namespace weft::data
