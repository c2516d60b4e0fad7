#include "models/config/json_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/string_util.h"

namespace weft::models {

using formats::Json;

namespace {

constexpr std::size_t kLongestQuote = 60;  // maximum length of a value in an error message

std::string quoted(const Json& value) {
  auto shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > kLongestQuote) {
    shown = shown.substr(0, kLongestQuote) + "...";
  }
  return shown;
}

}  // namespace

JsonFields::JsonFields(const Json& json, std::string place)
    : json_(json), place_(std::move(place)) {
  if (!json.is_object()) {
    throw formats::Error(place_ + ": found " + quoted(json) + ", must be an object");
  }
}

const Json* JsonFields::find(std::string_view key) const {
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

bool JsonFields::has(std::string_view key) const {
  const auto* found = find(key);
  return found != nullptr && !found->is_null();
}

bool JsonFields::is_null(std::string_view key) const {
  const auto* found = find(key);
  return found != nullptr && found->is_null();
}

const Json& JsonFields::at(std::string_view key) const { return *find(key); }

void JsonFields::fail(std::string_view key, std::string_view message) const {
  throw formats::Error(str_cat(place_, ": ", key, ": ", message));
}

void JsonFields::fail_found(std::string_view key,
                            const Json& found,
                            std::string_view allowed) const {
  fail(key, str_cat("found ", quoted(found), ", allowed is ", allowed));
}

void JsonFields::read(std::string_view key, int64_t& value, int64_t least, int64_t most) const {
  if (!has(key)) {
    return;
  }
  const auto& found = at(key);
  const auto allowed = str_cat("an integer from ", least, " to ", most);
  const bool is_too_large =
      found.is_number_unsigned() &&
      found.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!found.is_number_integer() || is_too_large) {
    fail_found(key, found, allowed);
  }
  const auto number = found.get<int64_t>();
  if (number < least || number > most) {
    fail_found(key, found, allowed);
  }
  value = number;
}

void JsonFields::read_size(std::string_view key, int64_t& value, int64_t most) const {
  const auto* found = find(key);
  if (found != nullptr && found->is_null()) {
    fail_found(key, *found, str_cat("an integer from 1 to ", most));
  }
  read(key, value, 1, most);
}

void JsonFields::read(std::string_view key, double& value, double least, double below) const {
  if (!has(key)) {
    return;
  }
  const auto& found = at(key);
  const auto allowed = str_cat("a number of at least ", least, " and below ", below);
  if (!found.is_number()) {
    fail_found(key, found, allowed);
  }
  const auto number = found.get<double>();
  if (!std::isfinite(number) || number < least || number >= below) {
    fail_found(key, found, allowed);
  }
  value = number;
}

void JsonFields::read(std::string_view key,
                      std::optional<double>& value,
                      double least,
                      double below) const {
  if (has(key)) {
    read(key, value.emplace(), least, below);
  }
}

void JsonFields::read(std::string_view key, bool& value) const {
  if (!has(key)) {
    return;
  }
  if (!at(key).is_boolean()) {
    fail_found(key, at(key), "true or false");
  }
  value = at(key).get<bool>();
}

void JsonFields::read(std::string_view key, std::string& value) const {
  if (!has(key)) {
    return;
  }
  if (!at(key).is_string()) {
    fail_found(key, at(key), "text");
  }
  value = at(key).get<std::string>();
}

}  // namespace weft::models
