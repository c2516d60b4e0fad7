#include "data/tokenizers/json_fields.h"

#include <limits>
#include <utility>

#include "base/string_util.h"

namespace weft::data {

JsonFields::JsonFields(const formats::Json& json, std::string location)
    : json_(&json), location_(std::move(location)) {
  if (!json.is_object()) {
    throw Error(weft::str_cat(location_, ": found ", json.type_name(), ", must be an object"));
  }
}

const formats::Json* JsonFields::find(std::string_view key) const {
  const auto found = json_->find(std::string(key));
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

const formats::Json& JsonFields::at(std::string_view key) const {
  const formats::Json* found = find(key);
  if (found == nullptr) {
    throw Error(weft::str_cat(location_, ": no '", key, "'"));
  }
  return *found;
}

const formats::Json& JsonFields::list(std::string_view key) const {
  const formats::Json& found = at(key);
  if (!found.is_array()) {
    fail(key, weft::str_cat("found ", found.type_name(), ", must be a list"));
  }
  return found;
}

JsonFields JsonFields::fields(std::string_view key) const {
  return JsonFields(at(key), weft::str_cat(location_, ".", key));
}

std::string JsonFields::text(std::string_view key) const {
  const formats::Json& found = at(key);
  if (!found.is_string()) {
    fail(key, weft::str_cat(", must be a string", found.type_name(), ", must be a string"));
  }
  return found.get<std::string>();
}

std::string JsonFields::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : std::string(fallback);
}

std::optional<bool> JsonFields::optional_boolean(std::string_view key) const {
  const formats::Json* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_boolean()) {
    fail(key,
         weft::str_cat(", must be true or false", found->type_name(), ", must be true or false"));
  }
  return found->get<bool>();
}

bool JsonFields::boolean(std::string_view key, bool fallback) const {
  return optional_boolean(key).value_or(fallback);
}

int64_t JsonFields::integer(std::string_view key) const {
  const formats::Json& found = at(key);
  const bool is_whole = found.is_number_integer() &&
                        (!found.is_number_unsigned() ||
                         found.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  if (!is_whole) {
    fail(key, weft::str_cat(", must be an integer", found.type_name(), ", must be an integer"));
  }
  return found.get<int64_t>();
}

int64_t JsonFields::integer(std::string_view key, int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}

void JsonFields::fail(std::string_view key, std::string_view message) const {
  throw Error(weft::str_cat(location_, ".", key, ": ", message));
}

int32_t token_id(const formats::Json& json, const std::string& location) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  const bool is_id =
      json.is_number_unsigned()
          ? json.get<uint64_t>() <= uint64_t{kMost}
          : json.is_number_integer() && json.get<int64_t>() >= 0 && json.get<int64_t>() <= kMost;
  if (!is_id) {
    throw Error(
        weft::str_cat(location, ": a token id must be an integer of at least 0 and below 2^31"));
  }
  return json.get<int32_t>();
}

}  // namespace weft::data
