#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "formats/row_reader.h"

namespace weft::formats {

namespace {

using Fields = std::vector<std::optional<std::string>>;

/// Extracts fields of one object, or only their names. Fields of nested objects have dotted names,
/// `translation.en`.
class ObjectReader : public JsonSaxReader {
 public:
  ObjectReader(std::string_view text,
               const std::string& path,
               int64_t line,
               const std::vector<std::string>& wanted,
               const std::vector<std::string>& lists,
               Fields* fields)
      : JsonSaxReader(text, path, line), wanted_(wanted), lists_(lists), fields_(fields) {}

  std::vector<std::string> names;

 private:
  void on_open(bool is_object) override {
    if (depth() == 0 && !is_object) {
      fail("a list, expected one JSON object on each line; `jq -c .[] FILE` writes them");
    }
    if (depth() == 0 || is_in_list()) {
      if (is_in_list() && field_ != nullptr) {
        fail(str_cat("the list ", quoted_text(name_), " contains a list or an object, expected ",
                     kAllowed));
      }
      return;
    }
    if (is_object) {
      if (field_ != nullptr) {
        fail(str_cat("the field ", quoted_text(name_), " is an object, select one of its fields, ",
                     quoted_text(name_ + ".KEY")));
      }
      prefixes_.push_back(name_ + ".");
      return;
    }
    list_depth_ = depth();
    note_name();
    if (field_ != nullptr) {
      if (std::find(lists_.begin(), lists_.end(), name_) == lists_.end()) {
        fail(
            str_cat("the field ", quoted_text(name_), " is a list, expected a string or a number"));
      }
      list_ = Json::array();
    }
  }

  void on_close() override {
    if (!is_in_list()) {
      prefixes_.resize(static_cast<std::size_t>(std::max<int64_t>(depth() - 1, 0)));
    } else if (depth() == list_depth_) {
      if (field_ != nullptr) {
        *field_ = list_.dump();
      }
      list_depth_ = 0;
    }
  }

  void on_key(std::string&& key) override {
    if (is_in_list()) {
      return;
    }
    name_ = prefixes_.empty() ? std::move(key) : prefixes_.back() + key;
    const auto column = std::find(wanted_.begin(), wanted_.end(), name_);
    field_ = column == wanted_.end()
                 ? nullptr
                 : &(*fields_)[static_cast<std::size_t>(column - wanted_.begin())];
  }

  void on_scalar(Json&& value, std::string_view number) override {
    if (depth() == 0) {
      fail("not a JSON object, expected one on each line");
    }
    if (!is_in_list()) {
      note_name();
    }
    if (field_ == nullptr || (!is_in_list() && value.is_null())) {
      return;
    }
    if (value.is_null()) {
      fail(str_cat("the list ", quoted_text(name_), " contains null, expected ", kAllowed));
    }
    std::string found = value.is_string() ? std::move(value.get_ref<std::string&>())
                        : number.empty()  ? value.dump()
                                          : std::string(number);
    if (is_in_list()) {
      list_.push_back(std::move(found));
    } else {
      *field_ = std::move(found);
    }
  }

  bool is_in_list() const { return list_depth_ > 0; }

  void note_name() {
    if (fields_ == nullptr) {
      names.push_back(name_);
    }
  }

  static constexpr auto kAllowed = "strings or numbers";
  const std::vector<std::string>& wanted_;
  const std::vector<std::string>& lists_;
  Fields* fields_;                     // null: only names are requested
  std::string name_;                   // of the last field read
  std::vector<std::string> prefixes_;  // of the objects that are open inside the root object
  std::optional<std::string>* field_ = nullptr;  // where its value is stored, if requested
  int64_t list_depth_ = 0;  // depth of the outermost list that is open; 0: none is open
  Json list_;               // items of the requested list
};

class JsonReader : public RowReader {
 public:
  explicit JsonReader(const std::string& path)
      : path_(path == "-" ? "standard input" : path), lines_(path) {
    std::string_view line;
    if (next_line(line)) {
      ObjectReader object(line, path_, lines_.number(), wanted_, lists_, nullptr);
      object.walk();
      columns_ = std::move(object.names);
      first_ = line;
    }
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  void select_columns(const std::vector<std::string>& wanted) override {
    wanted_ = wanted;
    repeated_.clear();
    std::map<std::string_view, std::size_t> indices;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (const auto [found, is_new] = indices.emplace(wanted[i], i); !is_new) {
        repeated_.emplace_back(i, found->second);
      }
    }
  }
  void allow_lists(const std::vector<std::string>& wanted) override { lists_ = wanted; }

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
    for (const auto& [again, original] : repeated_) {
      fields[again] = fields[original];
    }
    return true;
  }

  std::string location() const override { return lines_.location(); }
  int64_t consumed() const override { return lines_.consumed(); }
  int64_t blank_lines() const override { return blank_lines_; }

 private:
  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      if (!trim(line).empty()) {
        return true;
      }
      ++blank_lines_;
    }
    return false;
  }

  std::string path_;
  LineReader lines_;
  std::optional<std::string> first_;  // the line that defined the columns, until `next` uses it
  std::vector<std::string> columns_;
  std::vector<std::string> wanted_;
  std::vector<std::pair<std::size_t, std::size_t>> repeated_;  // wanted again, and where first
  std::vector<std::string> lists_;
  int64_t blank_lines_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> make_json_reader(const std::string& path) {
  return std::make_unique<JsonReader>(path);
}

}  // namespace weft::formats
