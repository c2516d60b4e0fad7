#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"

namespace weft::inference {

/// What to score: which of several choices follows a context, the likelihood of one continuation,
/// or of a whole text.
struct ScoreItem {
  std::string context;
  std::vector<std::string> choices;           // one: a continuation
  std::optional<std::string> delimiter = {};  // between context and choice; nullopt: a space unless
                                              // either has white space there
  std::optional<int64_t> label = {};          // the right choice
  std::optional<std::string> text = {};       // a whole text, instead of the above
};

/// The continuation text for a choice of the item.
std::string continuation_of(const ScoreItem& item, const std::string& choice);

/// Turns a table row into a question by templates: `{column}` is replaced by the column's value,
/// `{column|filter}` by the filtered value: `strip` (no white space at the ends), `without_end` (no
/// last character), `lower_first`, `upper_first`. `{{` and `}}` are literal braces.
class ScoreTask {
 public:
  /// Reads a task file. Throws config::Error.
  static ScoreTask read(config::Section& section);

  const std::vector<std::string>& data() const { return data_; }
  /// Columns used by the templates, in the order in which `item` expects their values.
  const std::vector<std::string>& columns() const { return columns_; }
  bool is_continuation() const { return continuation_.has_value(); }

  /// Throws UserError for an invalid label.
  ScoreItem item(const std::vector<std::string>& values) const;

 private:
  struct TemplatePart {
    std::string text;                   // literal text, or
    std::optional<std::size_t> column;  // the value of this column
    std::vector<std::string> filters;
  };
  using Template = std::vector<TemplatePart>;

  Template parse(config::Section& section, std::string_view key, const std::string& raw);
  std::size_t column(const std::string& name);
  std::string render(const Template& pieces, const std::vector<std::string>& values) const;
  void read_verbalizers(config::Section& section);

  std::vector<std::string> data_;
  std::vector<std::string> columns_;
  std::map<std::pair<std::string, std::string>, std::string>
      verbalizers_;  // (column, value) -> word
  Template context_;
  std::vector<Template> choices_;
  std::optional<Template> continuation_;
  std::optional<Template> text_;
  std::string delimiter_ = " ";
  std::optional<std::size_t> label_;
  std::vector<std::string> labels_;
};

}  // namespace weft::inference
