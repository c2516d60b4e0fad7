#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/error.h"

namespace weft::formats {

/// Keys keep their order. Key lookup is linear: iterate over large objects (vocabularies) instead.
using Json = nlohmann::ordered_json;

/// Parses strictly: UTF-8, no duplicate keys, depth at most 128. Throws Error `location: ...` with
/// line and column.
Json parse_json(std::string_view text, const std::string& location);
/// Parses a file of at most `limit` bytes like parse_json. The tree may take ten times as much
/// memory, so set a small limit for small files.
Json read_json(const std::string& path, int64_t limit = int64_t{256} << 20);

/// Parses JSON as events without building a tree, so that a reader can reject unexpected content
/// before allocating memory. Rejects invalid UTF-8, duplicate keys and depth over 128; every error
/// is `location:LINE:COLUMN: ...`.
class JsonSaxReader : private nlohmann::json_sax<Json> {
 public:
  /// `first_line`: line number of the start of the text in the file.
  JsonSaxReader(std::string_view text, std::string location, int64_t first_line = 1);

  void walk();

 protected:
  /// A string, number, boolean or null; `number` is the source text of a number with a fraction or
  /// exponent.
  virtual void on_scalar(Json&& value, std::string_view number) = 0;
  virtual void on_open(bool is_object) = 0;
  virtual void on_close() = 0;
  virtual void on_key(std::string&& key) = 0;

  /// Number of open objects and lists.
  int64_t depth() const { return static_cast<int64_t>(keys_.size()); }
  /// Throws Error at the current location.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const;
  void open(bool is_object);

  bool null() final;
  bool boolean(bool value) final;
  bool number_integer(Json::number_integer_t value) final;
  bool number_unsigned(Json::number_unsigned_t value) final;
  bool number_float(Json::number_float_t value, const Json::string_t& text) final;
  bool string(Json::string_t& value) final;
  bool binary(Json::binary_t& value) final;
  bool start_object(std::size_t elements) final;
  bool end_object() final;
  bool start_array(std::size_t elements) final;
  bool end_array() final;
  bool key(Json::string_t& key) final;
  bool parse_error(std::size_t position,
                   const std::string& last_token,
                   const nlohmann::detail::exception& error) final;

  std::string_view text_;
  std::string location_;
  int64_t first_line_;
  const char* read_;                                   // end of the input consumed by the parser
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects; empty for lists
};

}  // namespace weft::formats
