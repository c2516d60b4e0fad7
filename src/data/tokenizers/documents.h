#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/vocabulary.h"
#include "formats/json.h"

namespace weft::data {

// The parts of a tokenizer.json, written: by training, and for directories that have the older
// files alone.

/// A document with all keys that `tokenizers` expects, without a model.
formats::Json empty_document();

/// Puts a token into `added_tokens` (special unless said otherwise), or changes the one with this
/// content.
struct AddedTokenOptions {
  bool strips_left = false;
  bool is_special = true;
};
void add_token(formats::Json& document,
               int32_t id,
               const std::string& content,
               const AddedTokenOptions& options = {});

/// The pieces as an object of ids, in their order.
formats::Json vocabulary_object(const Vocabulary& vocabulary);

struct BertOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents;
  bool spaces_ideographs = true;
};
formats::Json bert_normalizer(const BertOptions& options);
formats::Json word_piece_model(const Vocabulary& vocabulary, const std::string& unknown);

/// `[CLS] a [SEP] b [SEP]`, segments 0 and 1.
struct NamedId {
  std::string content;
  int32_t id = 0;
};
formats::Json bert_template(const NamedId& classify, const NamedId& separate);
/// `<s> a </s></s> b </s>`.
formats::Json roberta_processing(const NamedId& classify,
                                 const NamedId& separate,
                                 bool prepends_space);
/// The same as a TemplateProcessing.
formats::Json roberta_template(const NamedId& begin, const NamedId& end);
/// `a </s> b </s>`.
formats::Json ending_template(const NamedId& end);
/// `a b </s> en_XX`.
formats::Json language_template(const NamedId& end, const NamedId& language);

/// A token before each text, one behind each, or both.
formats::Json framing_template(const std::optional<NamedId>& begin,
                               const std::optional<NamedId>& end);

formats::Json byte_level(bool prepends_space);
/// Of pieces with bytes among them, `<0x0A>`; `strips`: the space before the first word goes.
formats::Json byte_fallback_decoder(bool strips);
/// The words of Qwen2, a digit each, and their bytes.
formats::Json qwen2_words(bool prepends_space);
formats::Json metaspace(std::string_view prepend_scheme, bool splits);
formats::Json sequence_of(std::string_view key, std::vector<formats::Json> parts);
formats::Json replacement(std::string_view kind,
                          const std::string& pattern,
                          const std::string& content);

}  // namespace weft::data
