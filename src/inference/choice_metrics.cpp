#include "inference/choice_metrics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/codepoints.h"
#include "base/utf8.h"

namespace weft::inference {

int64_t argmax(const std::vector<double>& values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

void MeanMetric::add(double value) {
  ++count_;
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

double MeanMetric::mean() const { return mean_; }

double MeanMetric::standard_error() const {
  const auto count = static_cast<double>(count_);
  return count_ < 2 ? 0 : std::sqrt(squares_ / (count - 1) / count);
}

void ScoreMetrics::add(const Choices& choices) {
  ++items_;
  if (!choices.label) {
    return;
  }
  const auto add_accuracy = [&](const std::string& name, const auto& value_of) {
    std::vector<double> values;
    for (std::size_t i = 0; i < choices.texts.size(); ++i) {
      values.push_back(value_of(i));
    }
    means_[name].add(argmax(values) == *choices.label ? 1 : 0);
  };
  const auto& logs = choices.log_probabilities;
  add_accuracy("accuracy", [&](std::size_t i) { return logs[i]; });
  add_accuracy("acc_norm", [&](std::size_t i) {
    return logs[i] / static_cast<double>(std::max<int64_t>(utf8::count(choices.texts[i]), 1));
  });
  add_accuracy("acc_bytes", [&](std::size_t i) {
    return logs[i] / static_cast<double>(std::max<std::size_t>(choices.texts[i].size(), 1));
  });
  if (!choices.unconditional.empty()) {
    add_accuracy("acc_mutual_info",
                 [&](std::size_t i) { return logs[i] - choices.unconditional[i]; });
  }
}

void ScoreMetrics::add_continuation(const Likelihood& likelihood) {
  ++items_;
  greedy_.add(likelihood.is_greedy ? 1 : 0);
  continuations_.add(likelihood.log_probability);
}

void ScoreMetrics::add_text(const Likelihood& likelihood, int64_t words, int64_t bytes) {
  ++items_;
  texts_.push_back({.log_probability = likelihood.log_probability,
                    .words = static_cast<double>(words),
                    .bytes = static_cast<double>(bytes)});
}

/// A ratio of sums, R = sum l / sum u. Its variance is that of l - R u, divided by the squared mean
/// of u; exp and the logarithm's base are applied to it (delta method).
void ScoreMetrics::add_ratio(std::vector<std::pair<std::string, double>>& result,
                             const std::string& name,
                             double TextLikelihood::*unit,
                             double total,
                             bool is_bits) const {
  double logs = 0;
  double units = 0;
  for (const auto& text : texts_) {
    logs += text.log_probability;
    units += text.*unit;
  }
  const double scale = total > 0 ? total / units : 1;  // distributes a published total
  units *= scale;
  const double ratio = units > 0 ? logs / units : 0;
  MeanMetric residuals;
  for (const auto& text : texts_) {
    residuals.add(text.log_probability - ratio * scale * (text.*unit));
  }
  const double mean_unit = units / static_cast<double>(texts_.size());
  const double error = mean_unit > 0 ? residuals.standard_error() / mean_unit : 0;
  const double value = is_bits ? -ratio / std::numbers::ln2 : std::exp(-ratio);
  result.emplace_back(name, value);
  result.emplace_back(name + "_stderr", is_bits ? error / std::numbers::ln2 : value * error);
}

std::vector<std::pair<std::string, double>> ScoreMetrics::result(int64_t words) const {
  std::vector<std::pair<std::string, double>> metrics{{"items", static_cast<double>(items_)}};
  const auto add_mean = [&](const std::string& name, const MeanMetric& mean) {
    metrics.emplace_back(name, mean.mean());
    metrics.emplace_back(name + "_stderr", mean.standard_error());
  };
  for (const std::string name : {"accuracy", "acc_norm", "acc_bytes", "acc_mutual_info"}) {
    if (const auto found = means_.find(name); found != means_.end()) {
      add_mean(name, found->second);
    }
  }
  if (greedy_.count() > 0) {
    add_mean(means_.empty() ? "accuracy" : "greedy_accuracy", greedy_);
    const double perplexity = std::exp(-continuations_.mean());
    metrics.emplace_back("perplexity", perplexity);
    metrics.emplace_back("perplexity_stderr", perplexity * continuations_.standard_error());
  }
  if (!texts_.empty()) {
    add_ratio(metrics, "word_perplexity", &TextLikelihood::words, static_cast<double>(words),
              false);
    add_ratio(metrics, "byte_perplexity", &TextLikelihood::bytes, 0, false);
    add_ratio(metrics, "bits_per_byte", &TextLikelihood::bytes, 0, true);
  }
  return metrics;
}

int64_t split_count(std::string_view raw) {
  int64_t parts = 1;
  bool is_inside = false;
  for (const auto code : utf8::decode(raw)) {
    const bool is_space = is_python_space(code);
    parts += is_space && !is_inside ? 1 : 0;
    is_inside = is_space;
  }
  return parts;
}

}  // namespace weft::inference
