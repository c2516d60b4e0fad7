#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_util.h"
#include "data/error.h"
#include "formats/json.h"

namespace weft::data {

/// One object of a tokenizer's JSON file with its location, `DIR/tokenizer.json: normalizer`.
/// Accessors check types and throw data::Error; absent and null are equivalent.
class JsonFields {
 public:
  /// Throws if `json` is not an object.
  JsonFields(const formats::Json& json, std::string location);

  const std::string& location() const { return location_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Null if absent.
  const formats::Json* find(std::string_view key) const;
  /// Throws if absent.
  const formats::Json& at(std::string_view key) const;
  const formats::Json& list(std::string_view key) const;

  JsonFields fields(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::optional<bool> optional_boolean(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t fallback) const;

  /// Returns the value of the entry (name, value) of `table` that is called `name`. Throws, at
  /// `key`, with the allowed names.
  template <class Table>
  auto choose(std::string_view key, std::string_view name, const Table& table) const {
    std::vector<std::string> known;
    for (const auto& [word, value] : table) {
      if (word == name) {
        return value;
      }
      known.emplace_back(word);
    }
    fail(key, str_cat("'", printable(name), "' is not one of ", join(known)));
  }

  /// Throws `location.key: message`.
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;

 private:
  const formats::Json* json_;
  std::string location_;
};

/// Returns an id within 0 .. 2^31-1; throws `location: ...` otherwise.
int32_t token_id(const formats::Json& json, const std::string& location);

}  // namespace weft::data
