#include "cli/init/column_choice.h"

#include <algorithm>

#include "formats/table_reader.h"

namespace weft::cli {
namespace {

using data::ColumnProfile;
using Names = std::vector<std::string>;
using Predicate = std::function<bool(const ColumnProfile&)>;

constexpr int64_t kMaxClasses = 200;
constexpr double kMaxWordsOfClass = 5;

const Names kTextNames = {"text",   "sentence", "sentence1", "premise",  "question1",
                          "review", "comment",  "message",   "content",  "body",
                          "tweet",  "question", "query",     "document", "v2"};
const Names kPairNames = {"text_pair", "sentence2", "hypothesis", "question2", "passage"};
const Names kLabelNames = {"label",    "class",      "category", "target", "sentiment",
                           "polarity", "intent",     "topic",    "score",  "rating",
                           "stars",    "similarity", "v1"};
const Names kSourceNames = {"source", "src", "input"};
const Names kTargetNames = {"target", "tgt", "output"};

const ColumnProfile* first_named(const data::TableProfile& table,
                                 const Names& usual,
                                 const Predicate& fits) {
  Names names;
  for (const auto& column : table.columns) {
    names.push_back(column.name);
  }
  for (const auto& name : usual) {
    const auto found = formats::find_column(name, names);
    const auto at = found ? std::find(names.begin(), names.end(), *found) : names.end();
    if (at != names.end()) {
      const auto& column = table.columns[static_cast<std::size_t>(at - names.begin())];
      if (fits(column)) {
        return &column;
      }
    }
  }
  return nullptr;
}

/// The fitting column with the lowest cost; the first of equal ones.
const ColumnProfile* lowest(const data::TableProfile& table,
                            const Predicate& fits,
                            const std::function<double(const ColumnProfile&)>& cost) {
  const ColumnProfile* best = nullptr;
  for (const auto& column : table.columns) {
    if (fits(column) && (best == nullptr || cost(column) < cost(*best))) {
      best = &column;
    }
  }
  return best;
}

bool has_text(const ColumnProfile& column) { return column.filled > 0 && !column.is_numeric(); }

bool has_class_names(const ColumnProfile& column) {
  const auto distinct = static_cast<int64_t>(column.values.size());
  return !column.has_more_values && distinct >= 2 && distinct <= kMaxClasses &&
         distinct < column.filled && distinct <= std::max<int64_t>(2, column.filled / 2) &&
         column.mean_words() < kMaxWordsOfClass;
}

}  // namespace

ColumnChoice choose_columns(const data::TableProfile& table, bool has_classes) {
  ColumnChoice choice;
  choice.text = first_named(table, kTextNames, has_text);
  if (choice.text == nullptr) {
    choice.text = lowest(table, has_text, [](const auto& column) { return -column.mean_words(); });
  }
  choice.text_pair = first_named(table, kPairNames, has_text);
  const Predicate is_label = [&](const ColumnProfile& column) {
    return &column != choice.text && &column != choice.text_pair &&
           (has_classes ? has_class_names(column) : column.is_numeric());
  };
  choice.label = first_named(table, kLabelNames, is_label);
  if (choice.label == nullptr) {
    choice.label = lowest(table, is_label, [&](const auto& column) {
      return has_classes ? static_cast<double>(column.values.size()) : 0.0;
    });
  }
  return choice;
}

ColumnChoice choose_parallel_columns(const data::TableProfile& table) {
  ColumnChoice choice{.text = first_named(table, kSourceNames, has_text),
                      .text_pair = first_named(table, kTargetNames, has_text)};
  for (const auto& column : table.columns) {
    if (!has_text(column) || &column == choice.text || &column == choice.text_pair) {
      continue;
    }
    if (choice.text == nullptr) {
      choice.text = &column;
    } else if (choice.text_pair == nullptr) {
      choice.text_pair = &column;
    }
  }
  return choice;
}

}  // namespace weft::cli
