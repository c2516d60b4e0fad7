#include "metrics/metric.h"

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/registry.h"
#include "base/string_util.h"
#include "metrics/predictions.h"

namespace weft::metrics {

namespace {

constexpr bool kLower = false;  // lower is better
constexpr bool kGreater = true;
constexpr std::nullopt_t kNeither = std::nullopt;
constexpr auto kOneClass = "it needs labels of at least two classes";
constexpr auto kNoPositives = "no label is of a positive class";
constexpr auto kConstant = "it needs two rows, and labels and predictions that are not all equal";

// clang-format off
std::vector<Metric> built_in_metrics() {
  return {
      // Name, description, direction; functions of classes, of several labels, of values.
      {"loss", "loss of the objective", kLower, class_loss, label_loss},
      {"accuracy", "fraction of correct rows", kGreater, class_accuracy, subset_accuracy},
      {"balanced_accuracy", "mean recall over the classes that occur", kGreater, balanced_accuracy},
      {"precision", "of the positive class, or averaged", kGreater, class_precision, micro_precision},
      {"recall", "of the positive class, or averaged", kGreater, class_recall, micro_recall},
      {"f1", "F1 of the positive class, or averaged", kGreater, class_f1, micro_f1},
      {"f1_macro", "mean F1 over the classes", kGreater, class_f1_macro, label_f1_macro},
      {"f1_weighted", "mean F1 weighted by class size", kGreater, class_f1_weighted, label_f1_weighted},
      {"matthews_correlation", "Matthews correlation coefficient", kGreater, class_matthews},
      {"top5_accuracy", "label among the top 5 classes", kGreater, top5_accuracy},
      {"combined_score", "mean of two metrics, as in GLUE", kGreater, class_combined_score},
      {"roc_auc", "area under the ROC curve", kGreater, class_roc_auc, label_roc_auc, {}, kOneClass},
      {"average_precision", "area under the precision-recall curve", kGreater, class_average_precision, label_average_precision, {}, kNoPositives},
      {"ece", "expected calibration error", kLower, class_ece, label_ece},
      {"brier_score", "Brier score", kLower, class_brier_score, label_brier_score},
      {"hamming_loss", "fraction of wrong label decisions", kLower, {}, hamming_loss},
      {"threshold", "decision threshold, the minimum probability of a positive", kNeither},
      {"mse", "mean squared error", kLower, {}, {}, mean_squared_error},
      {"mae", "mean absolute error", kLower, {}, {}, mean_absolute_error},
      {"pearson", "Pearson correlation", kGreater, {}, {}, value_pearson, kConstant},
      {"spearmanr", "Spearman rank correlation", kGreater, {}, {}, value_spearman, kConstant},
      {"perplexity", "exponential of the mean loss per token", kLower},
      {"tokens", "number of tokens with a loss", kNeither},
      {"words", "number of words in the texts", kNeither},
      {"word_perplexity", "exponential of the mean loss per word", kLower},
      {"bits_per_byte", "loss in bits per byte of text", kLower},
      {"bits_per_character", "loss in bits per character of text", kLower},
      {"forward_loss", "loss from left to right of bidirectional language modelling", kLower},
      {"backward_loss", "loss from right to left of bidirectional language modelling", kLower},
      {"mlm_loss", "masked language modelling loss", kLower},
      {"mlm_accuracy", "fraction of masked tokens predicted correctly", kGreater},
      {"next_sentence_loss", "loss of next sentence prediction", kLower},
      {"next_sentence_accuracy", "accuracy of next sentence prediction", kGreater},
      {"sentence_order_loss", "loss of sentence order prediction", kLower},
      {"sentence_order_accuracy", "accuracy of sentence order prediction", kGreater},
      {"generator_loss", "loss of the generator", kLower},
      {"generator_accuracy", "fraction of masked tokens predicted correctly", kGreater},
      {"discriminator_loss", "loss of the discriminator", kLower},
      {"discriminator_accuracy", "fraction of tokens classified correctly", kGreater},
      {"discriminator_precision", "precision for replaced tokens", kGreater},
      {"discriminator_recall", "recall of replaced tokens", kGreater},
      {"replaced_share", "fraction of tokens that were replaced", kNeither},
      {"lines", "number of generated texts", kNeither},
      {"bleu", "BLEU of the generated texts", kGreater},
      {"chrf", "chrF of the generated texts", kGreater},
      {"chrf++", "chrF++ of the generated texts", kGreater},
      {"rouge1", "F1 of ROUGE-1", kGreater},
      {"rouge2", "F1 of ROUGE-2", kGreater},
      {"rougeL", "F1 of ROUGE-L", kGreater},
      {"rougeLsum", "F1 of ROUGE-Lsum", kGreater},
  };
}
// clang-format on

Registry<Metric>& registered_metrics() {
  static Registry<Metric> table("metric", built_in_metrics());
  return table;
}

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"eval_", "test_"}) {
    if (name.starts_with(prefix)) {
      return name.substr(prefix.size());
    }
  }
  return name;
}

template <class Predictions>
std::map<std::string, double> metrics_of(const Predictions& predictions,
                                         MetricFunction<Predictions> Metric::*function) {
  std::map<std::string, double> metrics;
  for (const Metric& metric : metric_table()) {
    if (const auto& compute = metric.*function) {
      if (const auto value = compute(predictions)) {
        metrics[metric.name] = *value;
      }
    }
  }
  return metrics;
}

}  // namespace

const std::deque<Metric>& metric_table() { return registered_metrics().all(); }

void register_metric(Metric metric) {
  if (without_prefix(metric.name) != metric.name || metric.name.empty()) {
    throw std::invalid_argument(str_cat("register_metric: '", metric.name,
                                        "' must be a name without the prefix eval_ or test_"));
  }
  registered_metrics().add(std::move(metric));
}

const Metric* find_metric(std::string_view name) {
  return registered_metrics().find(without_prefix(name));
}

std::string undefined_reason(std::string_view name, double value) {
  const auto* metric = find_metric(name);
  return metric != nullptr && std::isnan(value) ? metric->undefined_if : "";
}

bool greater_is_better(std::string_view name, std::string_view place) {
  const auto* found = find_metric(name);
  if (found != nullptr && found->greater_is_better) {
    return *found->greater_is_better;
  }
  std::vector<std::string> names;
  for (const Metric& metric : metric_table()) {
    if (metric.greater_is_better) {
      names.push_back("eval_" + metric.name);
    }
  }
  if (found != nullptr) {
    throw UserError(
        str_cat(place, ": '", name,
                "' is neither better nor worse if it is greater, allowed: ", join(names)));
  }
  const auto near = did_you_mean(name, names);
  throw UserError(str_cat(place, ": unknown metric '", name, "'",
                          near.empty() ? "" : ", did you mean '" + near + "'?",
                          " allowed: ", join(names)));
}

std::map<std::string, double> compute_metrics(const ClassPredictions& predictions) {
  return metrics_of(predictions, &Metric::of_classes);
}

std::map<std::string, double> compute_metrics(const MultiLabelPredictions& predictions) {
  return metrics_of(predictions, &Metric::of_multi_label);
}

std::map<std::string, double> compute_metrics(const ValuePredictions& predictions) {
  return metrics_of(predictions, &Metric::of_values);
}

std::map<std::string, double> with_eval_prefix(const std::map<std::string, double>& metrics) {
  std::map<std::string, double> result;
  for (const auto& [name, value] : metrics) {
    result["eval_" + name] = value;
  }
  return result;
}

}  // namespace weft::metrics
