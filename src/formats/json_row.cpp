#include "formats/json_row.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "formats/in_quotes.h"
#include "formats/json_events.h"
#include "formats/lines.h"

namespace weft::formats {

namespace {

using Fields = std::vector<std::optional<std::string>>;

/// Picks fields out of one object, or only its keys.
class ObjectReader : public JsonEvents {
 public:
  ObjectReader(std::string_view text,
               const std::string& path,
               int64_t line,
               const std::vector<std::string>& wanted,
               const std::vector<std::string>& lists,
               Fields* fields)
      : JsonEvents(text, path, line), wanted_(wanted), lists_(lists), fields_(fields) {}

  std::vector<std::string> keys;

 private:
  void on_open(bool is_object) override {
    if (depth() == 0 && !is_object) {
      fail("a list, expected one JSON object on each line");
    }
    if (depth() == 0 || field_ == nullptr) {
      return;
    }
    const bool may_be_list = std::find(lists_.begin(), lists_.end(), keys.back()) != lists_.end();
    if (depth() == 1 && may_be_list && !is_object) {
      list_ = Json::array();
    } else if (depth() == 1) {
      fail(text("the field ", in_quotes(keys.back()),
                may_be_list ? " is an object, expected a text, a number or a list of them"
                            : " is a list or an object, expected a text or a number"));
    } else {
      fail(text("the list ", in_quotes(keys.back()),
                " holds a list or an object, expected texts or numbers"));
    }
  }

  void on_close() override {
    if (depth() == 1 && list_.is_array()) {
      *field_ = list_.dump();
      list_ = nullptr;
    }
  }

  void on_key(std::string&& key) override {
    if (depth() == 1) {
      const auto place = std::find(wanted_.begin(), wanted_.end(), key);
      field_ = place == wanted_.end()
                   ? nullptr
                   : &(*fields_)[static_cast<std::size_t>(place - wanted_.begin())];
      if (fields_ != nullptr) {
        keys.clear();  // the last one serves messages
      }
      keys.push_back(std::move(key));
    }
  }

  void on_scalar(Json&& value, std::string_view number) override {
    if (depth() == 0) {
      fail("no JSON object, expected one on each line");
    }
    if (field_ == nullptr || (depth() == 1 && value.is_null())) {
      return;
    }
    if (value.is_null()) {
      fail(text("the list ", in_quotes(keys.back()), " holds null, expected texts or numbers"));
    }
    std::string found = value.is_string() ? std::move(value.get_ref<std::string&>())
                        : number.empty()  ? value.dump()
                                          : std::string(number);
    if (depth() == 1) {
      *field_ = std::move(found);
    } else {
      list_.push_back(std::move(found));
    }
  }

  const std::vector<std::string>& wanted_;
  const std::vector<std::string>& lists_;
  Fields* fields_;
  std::optional<std::string>* field_ =
      nullptr;  // where the value of the key belongs, if it is wanted
  Json list_;   // the texts of the list that is open
};

class JsonReader : public RowReader {
 public:
  explicit JsonReader(const std::string& path)
      : path_(path == "-" ? "standard input" : path), lines_(path) {
    std::string_view line;
    if (next_line(line)) {
      ObjectReader object(line, path_, lines_.number(), wanted_, lists_, nullptr);
      object.walk();
      columns_ = std::move(object.keys);
      first_ = line;
    }
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  void choose(const std::vector<std::string>& wanted) override { wanted_ = wanted; }
  void take_lists(const std::vector<std::string>& wanted) override { lists_ = wanted; }

  bool next(Fields& fields) override {
    std::string_view line;
    std::optional<std::string> first;
    first.swap(first_);
    if (first) {
      line = *first;
    } else if (!next_line(line)) {
      return false;
    }
    fields.assign(wanted_.size(), std::nullopt);
    ObjectReader(line, path_, lines_.number(), wanted_, lists_, &fields).walk();
    return true;
  }

  std::string place() const override { return lines_.place(); }
  int64_t consumed() const override { return lines_.consumed(); }
  int64_t blank_lines() const override { return blank_; }

 private:
  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      if (!trim(line).empty()) {
        return true;
      }
      ++blank_;
    }
    return false;
  }

  std::string path_;
  LineReader lines_;
  std::optional<std::string> first_;  // the line that gave the columns, until `next` takes it
  std::vector<std::string> columns_;
  std::vector<std::string> wanted_;
  std::vector<std::string> lists_;
  int64_t blank_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> make_json_reader(const std::string& path) {
  return std::make_unique<JsonReader>(path);
}

}  // namespace weft::formats
