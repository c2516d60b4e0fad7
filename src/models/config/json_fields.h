#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace weft::models {

/// Typed reader of an external JSON object. Absent keys and nulls leave the default; wrong types
/// and values out of range throw formats::Error `FILE: key: what was found, what is allowed`.
class JsonFields {
 public:
  JsonFields(const formats::Json& json, std::string place);

  bool has(std::string_view key) const;      // and is not null
  bool is_null(std::string_view key) const;  // present, but null
  void read(std::string_view key, int64_t& value, int64_t least, int64_t most) const;
  /// As above; null counts as a wrong type.
  void read_size(std::string_view key, int64_t& value, int64_t most) const;
  void read(std::string_view key, double& value, double least, double below) const;
  void read(std::string_view key, std::optional<double>& value, double least, double below) const;
  void read(std::string_view key, bool& value) const;
  void read(std::string_view key, std::string& value) const;
  const formats::Json& at(std::string_view key) const;

  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  const std::string& place() const { return place_; }

 private:
  const formats::Json* find(std::string_view key) const;
  [[noreturn]] void fail_found(std::string_view key,
                               const formats::Json& found,
                               std::string_view allowed) const;

  const formats::Json& json_;
  std::string place_;
};

}  // namespace weft::models
