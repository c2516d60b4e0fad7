#include "cli/init/draft.h"

#include <algorithm>
#include <cmath>

#include "base/string_util.h"
#include "config/yaml.h"

namespace weft::cli {
namespace {

constexpr std::size_t kClassesShown = 12;
constexpr std::size_t kClassNameBytes = 40;

}  // namespace

std::string flow_map(const Draft::Item& item) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : item) {
    parts.push_back(str_cat(key, ": ", value));
  }
  return "{" + join(parts) + "}";
}

std::string describe_lengths(const data::ColumnProfile& column) {
  const auto last = column.words.size() - 1;
  return str_cat(std::llround(column.mean_words()), " words on average, 95% have at most ",
                 with_commas(column.words[last * 95 / 100]), ", the longest has ",
                 with_commas(column.words[last]));
}

std::string describe_classes(const data::ColumnProfile& column) {
  std::vector<std::pair<std::string, int64_t>> classes(column.values.begin(), column.values.end());
  std::ranges::stable_sort(classes,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, rows] : classes) {
    if (parts.size() == kClassesShown) {
      parts.push_back(str_cat("and ", classes.size() - kClassesShown, " more"));
      break;
    }
    parts.push_back(
        str_cat(printable(name.substr(0, kClassNameBytes)), " (", with_commas(rows), ")"));
  }
  return join(parts);
}

void Draft::describe(const std::string& path, const data::TableProfile& table) {
  std::vector<std::string> parts = {
      str_cat(with_commas(table.rows), table.is_complete ? " rows" : " rows and more")};
  if (!table.options.has_header) {
    parts.emplace_back("no header");
  }
  parts.insert(parts.end(), table.remarks.begin(), table.remarks.end());
  add_fact(str_cat(path, ": ", join(parts)));
}

void Draft::write_model(const std::string& from_scratch) {
  keys_ += is_from_scratch() ? from_scratch
                             : str_cat("init_from: ", config::yaml_text(request_.from), "\n");
}

void Draft::write_data(const Item& item, std::string_view split) {
  write(str_cat("data:\n  train: [", flow_map(item), "]\n"));
  if (request_.evaluate.empty()) {
    write(split);
    return;
  }
  auto evaluate = item;
  for (std::size_t i = 0; i < request_.evaluate.size(); ++i) {
    evaluate[i].second = config::yaml_text(request_.evaluate[i]);
  }
  write(str_cat("  evaluate: [", flow_map(evaluate), "]\n"));
}

void Draft::write_training(std::string_view from_scratch) {
  if (is_from_scratch()) {
    write(from_scratch);
  }
}

std::string Draft::text(const std::string& task) const {
  std::string head =
      str_cat("# Written by `weft init ", task, "`; `weft config explain` lists all keys.\n");
  for (auto fact : facts_) {
    std::ranges::replace(fact, '\n', ' ');
    head += str_cat("# ", fact, "\n");
  }
  return str_cat(head, keys_, "run: {directory: ", config::yaml_text(request_.directory), "}\n");
}

}  // namespace weft::cli
