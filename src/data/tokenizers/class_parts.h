#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizers/documents.h"
#include "data/tokenizers/pipeline.h"

namespace weft::data {

// What the tokenizer classes of transformers are put together from.

/// Sets what the config leaves open to the class's own names.
void name_tokens(formats::Json& config,
                 const std::vector<std::pair<std::string_view, std::string_view>>& names);

/// The token that the config names under `key`, with its id. Throws data::Error where the document
/// has none such.
NamedId named(const TokenizerParts& parts, std::string_view key);

/// The part of this type: `whole` itself, or one of its parts under `list`; null where none is.
formats::Json part_of(const formats::Json& whole, std::string_view list, std::string_view type);

/// The id of a piece; nothing where the model has none such.
std::optional<int32_t> piece_id(const formats::Json& document,
                                const std::string& content,
                                const std::string& place);

/// Takes over `added_tokens_decoder` of tokenizer_config.json, where it has one; `replaces`: the
/// document's own added tokens count no more.
void add_listed_tokens(TokenizerParts& parts, bool replaces);

/// Takes over the tokens of an added_tokens.json, which gives ids only.
void add_older_tokens(TokenizerParts& parts, const formats::Json& ids);

/// Takes over the named special tokens of tokenizer_config.json into the document's added tokens.
void add_configured_tokens(TokenizerParts& parts);

}  // namespace weft::data
