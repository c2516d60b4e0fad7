#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure.h"

namespace weft::report {

/// A table. Numbers are texts; columns of numbers are aligned to the right.
struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // the first cell names the row
};

/// Part of a text sample: plain, inserted, deleted, or weighted.
struct TextSpan {
  enum class Kind { kPlain, kInserted, kDeleted, kWeighted };
  std::string text;
  Kind kind = Kind::kPlain;
  double weight = 0;  // of kWeighted, -1 to 1
};

/// A named text of a sample, `Source` and its spans.
struct SampleText {
  std::string name;
  std::vector<TextSpan> spans;
};

/// A page of sections with figures, tables and texts: one HTML file without references to others.
class Page {
 public:
  /// `runs`: names of the runs that it shows.
  Page(std::string title, std::vector<std::string> runs);

  /// What is added from here on belongs to this section. A section to which nothing is added is
  /// left out.
  void section(const std::string& id, const std::string& title);
  void heading(const std::string& text);  // within the section
  void note(const std::string& text);
  /// Something that is missing, and why.
  void warning(const std::string& text);
  void add(const Figure& figure);
  void add(const Table& table);
  void add_sample(const std::vector<SampleText>& texts);
  /// Text that is shown on demand.
  void add_details(const std::string& summary, const std::string& text);
  /// Further data for scripts and tests, at `data.KEY` of the page's JSON.
  void add_data(const std::string& key, formats::Json value) { data_[key] = std::move(value); }
  /// The page reloads itself after this time, while the run goes on.
  void refresh_after(int64_t seconds) { refresh_seconds_ = seconds; }

  std::string html() const;
  /// Figures as SVG files, by file name: `training-loss.svg`.
  const std::map<std::string, std::string>& svg_files() const { return svg_files_; }

 private:
  struct Section {
    std::string id;
    std::string title;
    std::string content;
  };
  void append(const std::string& markup);
  void close_figures();
  void keep_svg(const Figure& figure, const std::string& markup);

  std::string title_;
  std::vector<std::string> runs_;
  std::vector<Section> sections_;
  bool is_in_figures_ = false;
  int64_t figures_ = 0;
  formats::Json axes_ = formats::Json::object();
  formats::Json figure_data_ = formats::Json::object();
  formats::Json data_ = formats::Json::object();
  std::map<std::string, std::string> svg_files_;
  int64_t refresh_seconds_ = 0;
};

/// The words of `text`, with those that `reference` does not have inserted and those that only
/// `reference` has deleted, by a longest common subsequence of words.
std::vector<TextSpan> word_differences(const std::string& reference, const std::string& text);

}  // namespace weft::report
