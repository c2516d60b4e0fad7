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

}  // namespace weft::data
