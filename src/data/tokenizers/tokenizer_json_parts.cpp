#include "data/tokenizers/tokenizer_json_parts.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/string_util.h"
#include "data/tokenizers/special_names.h"

namespace weft::data {

using formats::Json;

namespace {

int32_t id_in(const Json& document, const std::string& content, const std::string& location) {
  for (const Json& token : document.at("added_tokens")) {
    if (token.value("content", "") == content) {
      return token_id(token.at("id"), location);
    }
  }
  throw Error(str_cat(location, ": no token '", printable(content), "'"));
}

/// Returns the next id that no piece and no added token uses.
int32_t next_id(const Json& document, const std::string& location) {
  int64_t next = 0;
  const Json& model = document.at("model");
  const auto vocabulary = model.is_object() ? model.find("vocab") : model.end();
  if (model.is_object() && vocabulary != model.end()) {
    if (vocabulary->is_array()) {
      next = static_cast<int64_t>(vocabulary->size());
    } else if (vocabulary->is_object()) {
      for (const auto& item : vocabulary->get_ref<const Json::object_t&>()) {
        next =
            std::max<int64_t>(next, token_id(item.second, location + ": model.vocab") + int64_t{1});
      }
    }
  }
  for (const Json& token : document.at("added_tokens")) {
    next =
        std::max<int64_t>(next, token_id(token.at("id"), location + ": added_tokens") + int64_t{1});
  }
  return static_cast<int32_t>(next);
}

bool has_added(const Json& document, const std::string& content) {
  const Json& tokens = document.at("added_tokens");
  return std::any_of(tokens.begin(), tokens.end(), [&](const Json& token) {
    return token.is_object() && token.contains("content") && token["content"] == content;
  });
}

/// Adds a token unless it exists, with the flags of `from`, an object.
void add_with_flags(TokenizerParts& parts,
                    const std::string& content,
                    bool is_special,
                    const Json& from) {
  if (content.empty() || has_added(parts.document, content)) {
    return;
  }
  const std::optional<int32_t> known = piece_id(parts.document, content, parts.location);
  add_token(parts.document, known ? *known : next_id(parts.document, parts.location), content,
            {.is_special = is_special});
  Json& result = parts.document["added_tokens"].back();
  for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) {
    if (from.is_object() && from.contains(key) && from[key].is_boolean()) {
      result[key] = from[key];
    }
  }
}

/// Adds one of the config's tokens, a string or an object with flags.
void add_configured(TokenizerParts& parts, const Json& token) {
  const bool is_object =
      token.is_object() && token.contains("content") && token["content"].is_string();
  if (!token.is_string() && !is_object) {
    return;
  }
  const std::string content =
      token.is_string() ? token.get<std::string>() : token["content"].get<std::string>();
  add_with_flags(parts, content, true, token);
}

}  // namespace

void set_default_tokens(Json& config,
                        const std::vector<std::pair<std::string_view, std::string_view>>& names) {
  for (const auto& [key, content] : names) {
    if (!config.contains(std::string(key))) {
      config[std::string(key)] = content;
    }
  }
}

NamedId named_token(const TokenizerParts& parts, std::string_view key) {
  const std::string content = special_token(parts.config, key).value_or("");
  return {content, id_in(parts.document, content, parts.location)};
}

Json find_component(const Json& whole, std::string_view list, std::string_view type) {
  const auto is_sought = [&](const Json& part) {
    return part.is_object() && part.contains("type") && part["type"] == type;
  };
  if (is_sought(whole)) {
    return whole;
  }
  if (whole.is_object() && whole.contains(list) && whole[list].is_array()) {
    for (const Json& part : whole[list]) {
      if (is_sought(part)) {
        return part;
      }
    }
  }
  return nullptr;
}

std::optional<int32_t> piece_id(const Json& document,
                                const std::string& content,
                                const std::string& location) {
  const Json& model = document.at("model");
  const auto vocabulary = model.is_object() ? model.find("vocab") : model.end();
  if (!model.is_object() || vocabulary == model.end()) {
    return std::nullopt;
  }
  if (vocabulary->is_object()) {
    const auto found = vocabulary->find(content);
    return found == vocabulary->end() ? std::nullopt : std::optional(token_id(*found, location));
  }
  for (std::size_t i = 0; vocabulary->is_array() && i < vocabulary->size(); ++i) {
    const Json& item = (*vocabulary)[i];
    if (item.is_array() && !item.empty() && item[0] == content) {
      return static_cast<int32_t>(i);
    }
  }
  return std::nullopt;
}

void add_listed_tokens(TokenizerParts& parts, bool replaces) {
  const auto listed = parts.config.find("added_tokens_decoder");
  if (listed == parts.config.end() || !listed->is_object()) {
    return;
  }
  std::map<int64_t, Json> by_id;
  for (const auto& [id, token] : listed->get_ref<const Json::object_t&>()) {
    if (token.is_object() && token.contains("content") && token["content"].is_string()) {
      by_id[std::atoll(id.c_str())] = token;
    }
  }
  parts.config.erase("added_tokens_decoder");
  if (replaces || !parts.document.contains("added_tokens") ||
      parts.document["added_tokens"].is_null()) {
    parts.document["added_tokens"] = Json::array();
  }
  for (const auto& [id, token] : by_id) {
    const auto special = token.find("special");
    add_with_flags(parts, token["content"].get<std::string>(),
                   special != token.end() && *special == true, token);
  }
}

void add_legacy_tokens(TokenizerParts& parts, const Json& ids) {
  if (ids.empty()) {
    return;
  }
  if (!parts.document.contains("added_tokens") || parts.document["added_tokens"].is_null()) {
    parts.document["added_tokens"] = Json::array();
  }
  std::map<int64_t, std::string> by_id;
  for (const auto& [content, id] : ids.get_ref<const Json::object_t&>()) {
    by_id[token_id(id, parts.location + ": added_tokens.json")] = content;
  }
  const auto& names = special_token_names();
  for (const auto& [id, content] : by_id) {
    const bool is_special = std::any_of(names.begin(), names.end(),
                                        [&, &token = content](const SpecialTokenName& name) {
                                          return special_token(parts.config, name.key) == token;
                                        });
    add_with_flags(parts, content, is_special, nullptr);
  }
}

void add_configured_tokens(TokenizerParts& parts) {
  Json& document = parts.document;
  if (!document.contains("added_tokens") || document["added_tokens"].is_null()) {
    document["added_tokens"] = Json::array();
  }
  read_added_tokens(document["added_tokens"], parts.location + ": added_tokens");
  const JsonFields config(parts.config, parts.location);
  if (!document.contains("model")) {
    throw Error(parts.location + ": no 'model'");
  }
  for (const SpecialTokenName& name : special_token_names()) {
    if (config.has(name.key)) {
      add_configured(parts, config.at(name.key));
    }
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const Json* tokens = config.find(key);
    if (tokens != nullptr && tokens->is_array()) {
      const Json list = *tokens;
      for (const Json& token : list) {
        add_configured(parts, token);
      }
    }
  }
}

}  // namespace weft::data
