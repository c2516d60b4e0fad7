#include "metrics/predictions.h"

namespace weft::metrics {

namespace {

template <class Value>
std::vector<Value> column_of(const std::vector<std::vector<Value>>& rows, int64_t index) {
  std::vector<Value> column;
  column.reserve(rows.size());
  for (const auto& row : rows) {
    column.push_back(row[static_cast<std::size_t>(index)]);
  }
  return column;
}

template <class Value>
std::vector<Value> flatten(const std::vector<std::vector<Value>>& rows) {
  std::vector<Value> values;
  for (const auto& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

}  // namespace

std::vector<bool> ClassPredictions::is_label(int64_t name) const {
  std::vector<bool> flags;
  flags.reserve(labels.size());
  for (const int64_t label : labels) {
    flags.push_back(label == name);
  }
  return flags;
}

std::vector<double> ClassPredictions::scores(int64_t name) const {
  return column_of(probabilities, name);
}

std::vector<bool> MultiLabelPredictions::is_label(int64_t name) const {
  return column_of(labels, name);
}

std::vector<double> MultiLabelPredictions::scores(int64_t name) const {
  return column_of(probabilities, name);
}

std::vector<bool> MultiLabelPredictions::all_labels() const { return flatten(labels); }

std::vector<double> MultiLabelPredictions::all_scores() const { return flatten(probabilities); }

}  // namespace weft::metrics
