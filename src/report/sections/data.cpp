#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "report/figures/charts.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kMostExamples = 20'000;  // of each part that are read
constexpr std::size_t kBins = 24;
constexpr std::size_t kDrawnClasses = 30;

/// What the examples of a dataset contain.
struct DataFacts {
  std::string name;
  int64_t size = 0;
  int64_t read = 0;
  double tokens = 0;
  std::vector<double> lengths = {};  // of the examples that were read
  std::map<int64_t, double> class_counts = {};
  std::set<uint64_t> contents = {};  // hashes of the examples
  int64_t duplicates = 0;            // examples equal to an earlier one
};

/// Reads the whole epoch, or evenly spaced examples of it.
DataFacts facts_of(const std::string& name, const data::Dataset& dataset) {
  DataFacts facts{.name = name, .size = dataset.size(0)};
  facts.read = std::min(facts.size, kMostExamples);
  for (int64_t i = 0; i < facts.read; ++i) {
    const auto example = dataset.example(0, i * facts.size / facts.read);
    const auto length = static_cast<double>(example.ids.size() + example.source_ids.size());
    facts.lengths.push_back(length);
    facts.tokens += length;
    if (example.label >= 0) {
      facts.class_counts[example.label] += 1;
    }
    uint64_t content = 0;
    const auto add = [&](const auto& values) {
      content = digest(values.data(), values.size() * sizeof(values[0]), content);
    };
    add(example.ids);
    add(example.source_ids);
    add(example.patches);
    facts.duplicates += facts.contents.insert(content).second ? 0 : 1;
  }
  return facts;
}

void add_lengths(const std::vector<DataFacts>& parts, Page& page) {
  double longest = 1;
  for (const auto& facts : parts) {
    longest = std::max(longest, *std::ranges::max_element(facts.lengths));
  }
  const auto width = std::max(1.0, std::ceil(longest / kBins));
  const auto bins = static_cast<std::size_t>(longest / width) + 1;
  std::vector<std::string> names;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto first = static_cast<int64_t>(static_cast<double>(bin) * width);
    names.push_back(width > 1 ? str_cat(first, "–", first + static_cast<int64_t>(width) - 1)
                              : std::to_string(first));
  }
  std::vector<BarChart::Bars> bars;
  for (const auto& facts : parts) {
    BarChart::Bars& own =
        bars.emplace_back(BarChart::Bars{.name = facts.name, .values = std::vector<double>(bins)});
    for (const double length : facts.lengths) {
      own.values[static_cast<std::size_t>(length / width)] += 1;
    }
  }
  page.add(
      BarChart("Lengths of the examples (tokens)", "examples", std::move(names), std::move(bars)));
}

void add_classes(const std::vector<DataFacts>& parts,
                 const std::vector<std::string>& labels,
                 Page& page) {
  if (parts.front().class_counts.empty() || labels.empty() || labels.size() > kDrawnClasses) {
    return;
  }
  std::vector<BarChart::Bars> bars;
  for (const auto& facts : parts) {
    auto& own = bars.emplace_back(
        BarChart::Bars{.name = facts.name, .values = std::vector<double>(labels.size())});
    for (const auto& [label, count] : facts.class_counts) {
      if (static_cast<std::size_t>(label) < labels.size()) {
        own.values[static_cast<std::size_t>(label)] = count;
      }
    }
  }
  page.add(BarChart("Classes", "examples", labels, std::move(bars)));
}

}  // namespace

void add_data(const ReportInput& input, Page& page) {
  if (!input.loaded) {
    return;
  }
  const auto& run = *input.loaded;
  std::vector<DataFacts> parts;
  for (const auto& [name, dataset] :
       {std::pair("training", run.train), std::pair("evaluation", run.evaluate)}) {
    if (dataset && dataset->size(0) > 0) {
      parts.push_back(facts_of(name, *dataset));
    }
  }
  if (parts.empty()) {
    return;
  }
  Table table{.caption = "Data of one epoch",
              .columns = {"Part", "Examples", "Read here", "Mean tokens", "Longest", "Duplicates",
                          "Also in training"},
              .rows = {}};
  for (const auto& facts : parts) {
    int64_t shared = 0;
    for (const auto content : facts.contents) {
      shared += parts.front().contents.contains(content) ? 1 : 0;
    }
    table.rows.push_back({facts.name, with_commas(facts.size), with_commas(facts.read),
                          number_text(facts.tokens / static_cast<double>(facts.read), 4),
                          number_text(*std::ranges::max_element(facts.lengths)),
                          with_commas(facts.duplicates),
                          &facts == &parts.front() ? "–" : with_commas(shared)});
  }
  page.add(table);
  add_lengths(parts, page);
  add_classes(parts, run.labels, page);
}

}  // namespace weft::report
