#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/predictions.h"

namespace weft::metrics {

/// Computes a metric from predictions; nullopt: it is not defined for them and is left out.
template <class Predictions>
using MetricFunction = std::function<std::optional<double>(const Predictions&)>;

/// A metric of an evaluation. Where it is computed from predictions it has the functions; others
/// are computed by their objective.
struct Metric {
  std::string name;  // without the prefix `eval_` or `test_`
  std::string description;
  std::optional<bool> greater_is_better = true;  // nullopt: neither, such as a count
  MetricFunction<ClassPredictions> of_classes = {};
  MetricFunction<MultiLabelPredictions> of_multi_label = {};
  MetricFunction<ValuePredictions> of_values = {};  // of one number; the mean over all is reported
  std::string undefined_if = {};                    // when its value is not a number, as a clause
};

/// All metrics: those of the table in metric.cpp, and the registered ones.
const std::deque<Metric>& metric_table();

/// Adds a metric; for programs that link Weft, before they start a run. Throws
/// std::invalid_argument for a name that is taken, or that has one of the prefixes.
void register_metric(Metric metric);

/// The metric of this name, with or without its prefix; nullptr if there is none.
const Metric* find_metric(std::string_view name);

/// Why the value of the metric is not a number; empty if it is one, or if that is unexpected.
std::string undefined_reason(std::string_view name, double value);

/// Whether greater is better for the metric. Throws UserError for an unknown one, with the nearest
/// name, and for one where neither is better, with `place` as its location.
bool greater_is_better(std::string_view name, std::string_view place);

/// All metrics that are computed from these predictions, by name without prefix.
std::map<std::string, double> compute_metrics(const ClassPredictions& predictions);
std::map<std::string, double> compute_metrics(const MultiLabelPredictions& predictions);
std::map<std::string, double> compute_metrics(const ValuePredictions& predictions);

/// The same values, their names with the prefix `eval_`.
std::map<std::string, double> with_eval_prefix(const std::map<std::string, double>& metrics);

}  // namespace weft::metrics
