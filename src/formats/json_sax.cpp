#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "formats/json.h"

namespace weft::formats {

namespace {

constexpr std::size_t kMaxDepth = 128;

/// Input iterator that records the parser's position, which its events do not report.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *read_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** read_;
};

}  // namespace

JsonSaxReader::JsonSaxReader(std::string_view text, std::string location, int64_t first_line)
    : text_(text), location_(std::move(location)), first_line_(first_line), read_(text.data()) {}

void JsonSaxReader::walk() {
  if (const auto invalid = utf8::first_invalid(text_)) {
    fail_at(*invalid, "text that is not UTF-8");
  }
  // The parser treats a zero byte as the end.
  if (const auto zero = text_.find('\0'); zero != std::string_view::npos) {
    fail_at(zero, "a null byte");
  }
  const char* const begin = text_.data();
  nlohmann::json_sax<Json>& events = *this;
  Json::sax_parse(Cursor(begin, &read_), Cursor(begin + text_.size(), &read_), &events);
}

void JsonSaxReader::fail(const std::string& message) const {
  const auto consumed = static_cast<std::size_t>(read_ - text_.data());
  fail_at(consumed > 0 ? consumed - 1 : 0, message);
}

void JsonSaxReader::fail_at(std::size_t offset, const std::string& message) const {
  const auto before = text_.substr(0, offset);
  const auto line = first_line_ + std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw Error(weft::str_cat(location_, ":", line, ":", offset - line_begin + 1, ": ", message));
}

bool JsonSaxReader::null() {
  on_scalar(Json(nullptr), {});
  return true;
}

bool JsonSaxReader::boolean(bool value) {
  on_scalar(Json(value), {});
  return true;
}

bool JsonSaxReader::number_integer(Json::number_integer_t value) {
  on_scalar(Json(value), {});
  return true;
}

bool JsonSaxReader::number_unsigned(Json::number_unsigned_t value) {
  on_scalar(Json(value), {});
  return true;
}

bool JsonSaxReader::number_float(Json::number_float_t value, const Json::string_t& text) {
  on_scalar(Json(value), text);
  return true;
}

bool JsonSaxReader::string(Json::string_t& value) {
  on_scalar(Json(std::move(value)), {});
  return true;
}

bool JsonSaxReader::binary(Json::binary_t&) { fail("binary data, allowed is JSON"); }

void JsonSaxReader::open(bool is_object) {
  if (keys_.size() == kMaxDepth) {
    fail(weft::str_cat("nested deeper than ", kMaxDepth, " levels"));
  }
  on_open(is_object);
  keys_.emplace_back();
}

bool JsonSaxReader::start_object(std::size_t) {
  open(true);
  return true;
}

bool JsonSaxReader::end_object() {
  keys_.pop_back();
  on_close();
  return true;
}

bool JsonSaxReader::start_array(std::size_t) {
  open(false);
  return true;
}

bool JsonSaxReader::end_array() { return end_object(); }

bool JsonSaxReader::key(Json::string_t& key) {
  if (!keys_.back().insert(key).second) {
    fail(weft::str_cat("the key ", quoted_text(key), " is duplicated in one object"));
  }
  on_key(std::move(key));
  return true;
}

bool JsonSaxReader::parse_error(std::size_t position,
                                const std::string&,
                                const nlohmann::detail::exception& error) {
  const std::string_view what = error.what();
  if (what.find("out_of_range") != std::string_view::npos) {
    fail("a number too large for double precision");
  }
  if (position > text_.size()) {
    fail_at(text_.size(), "the JSON text ends unexpectedly");
  }
  const std::size_t at = position > 0 ? position - 1 : 0;
  fail_at(at, "not valid JSON at " + quoted_text(text_.substr(at, 12)));
}

}  // namespace weft::formats
