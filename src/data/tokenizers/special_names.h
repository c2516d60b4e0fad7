#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "formats/json.h"

namespace weft::data {

/// Role of a special token: its key in the config files, and its usual contents if they do not name
/// it.
struct SpecialTokenName {
  std::string_view key;  // `cls_token`
  int32_t SpecialTokenIds::*member;
  std::vector<std::string_view> default_contents;
};

const std::vector<SpecialTokenName>& special_token_names();

/// Returns the token that a tokenizer_config.json or special_tokens_map.json names for a key: a
/// string, or an object with `content`.
std::optional<std::string> special_token(const formats::Json& config, std::string_view key);

}  // namespace weft::data
