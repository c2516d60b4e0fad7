#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizers/documents.h"
#include "data/tokenizers/pipeline.h"

namespace weft::data {

// Building blocks of the tokenizer classes of transformers.

/// Sets tokens that the config does not name to the class's defaults.
void set_default_tokens(formats::Json& config,
                        const std::vector<std::pair<std::string_view, std::string_view>>& names);

/// Returns the token that the config names under `key`, with its id. Throws data::Error if it is
/// not in the document.
NamedId named_token(const TokenizerParts& parts, std::string_view key);

/// Returns the component of this type: `whole` itself, or one of its parts under `list`; else null.
formats::Json find_component(const formats::Json& whole,
                             std::string_view list,
                             std::string_view type);

/// Returns the id of a piece; nullopt if the model does not have it.
std::optional<int32_t> piece_id(const formats::Json& document,
                                const std::string& content,
                                const std::string& location);

/// Copies `added_tokens_decoder` of tokenizer_config.json, if present; `replaces`: discards the
/// document's added tokens.
void add_listed_tokens(TokenizerParts& parts, bool replaces);

/// Copies the tokens of an added_tokens.json, which only has ids.
void add_legacy_tokens(TokenizerParts& parts, const formats::Json& ids);

/// Adds the special tokens named in tokenizer_config.json to the document's added tokens.
void add_configured_tokens(TokenizerParts& parts);

/// Class that `transformers` would use for the directory: the one in tokenizer_config.json, else
/// that of the model's family; empty if neither is known.
std::string tokenizer_class(const formats::Json& config, const formats::Json& model_config);

/// Modifies the document as the class does: these classes keep only the vocabulary of a
/// tokenizer.json and rebuild everything else from tokenizer_config.json. Other classes change
/// nothing. Throws data::Error.
void apply_tokenizer_class(TokenizerParts& parts, const std::string& name);

/// Renumbers a SentencePiece unigram model's document to fairseq's ids: `<s>`, `<pad>`, `</s>`,
/// `<unk>`, the pieces after the model's first three, `last`.
void convert_to_fairseq_ids(formats::Json& document, const std::vector<std::string>& last);

}  // namespace weft::data
