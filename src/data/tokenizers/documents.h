#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/vocabulary.h"
#include "formats/json.h"

namespace weft::data {

// Builders for the parts of a tokenizer.json: used by training, and for directories that only have
// the legacy files.

/// Returns a document with all keys that `tokenizers` expects, without a model.
formats::Json empty_document();

/// Adds a token to `added_tokens` (special by default), or changes the one with this content.
struct AddedTokenOptions {
  bool lstrip = false;
  bool is_special = true;
};
void add_token(formats::Json& document,
               int32_t id,
               const std::string& content,
               const AddedTokenOptions& options = {});

/// Returns an object from pieces to ids, in id order.
formats::Json vocabulary_object(const Vocabulary& vocabulary);

struct BertOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents;
  bool spaces_ideographs = true;
};
formats::Json bert_normalizer(const BertOptions& options);
formats::Json word_piece_model(const Vocabulary& vocabulary, const std::string& unknown);

/// A token.
struct NamedId {
  std::string content;
  int32_t id = 0;
};
/// `[CLS] a [SEP] b [SEP]`, segments 0 and 1; `cls_type` is that of `[CLS]`.
formats::Json bert_template(const NamedId& cls, const NamedId& sep, int cls_type = 0);
/// The token type of Funnel's `<cls>`.
inline constexpr int kFunnelClsType = 2;
/// `<s> a </s></s> b </s>`.
formats::Json roberta_processing(const NamedId& cls, const NamedId& sep, bool prepends_space);
/// The same as a TemplateProcessing.
formats::Json roberta_template(const NamedId& begin, const NamedId& end);
/// `a </s> b </s>`.
formats::Json eos_template(const NamedId& end);
/// `a b </s> en_XX`.
formats::Json language_template(const NamedId& end, const NamedId& language);

/// A token before each text, one after each, or both.
formats::Json bos_eos_template(const std::optional<NamedId>& begin,
                               const std::optional<NamedId>& end);

formats::Json byte_level(bool prepends_space);
/// For vocabularies with byte pieces, `<0x0A>`; `strips`: removes the space of the first word.
formats::Json byte_fallback_decoder(bool strips);
/// Qwen2's word splitting, with single digits, as byte-level pieces.
formats::Json qwen2_pre_tokenizer(bool prepends_space);
formats::Json metaspace(std::string_view prepend_scheme, bool splits);
formats::Json sequence_of(std::string_view key, std::vector<formats::Json> parts);
formats::Json replacement(std::string_view kind,
                          const std::string& pattern,
                          const std::string& content);

}  // namespace weft::data
