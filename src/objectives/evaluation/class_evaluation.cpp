#include "objectives/evaluation/class_evaluation.h"

#include <algorithm>
#include <utility>

#include "metrics/calibration.h"
#include "metrics/metrics.h"
#include "metrics/tally.h"
#include "objectives/evaluation/seen.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Figures = std::map<std::string, double>;

constexpr int64_t kLargestMatrix = 1000;  // classes; more are not shown as a confusion matrix

/// Everything that the figures are computed from, in the order of the items.
struct ClassJudged {
  std::vector<Seen> rows;
  std::vector<std::vector<double>> shares;  // probabilities
  std::vector<int64_t> labels;
  std::vector<int64_t> found;
  double threshold = 0.5;
  int64_t classes = 0;

  std::vector<bool> is_label(int64_t name) const {
    std::vector<bool> flags;
    flags.reserve(labels.size());
    for (const int64_t label : labels) {
      flags.push_back(label == name);
    }
    return flags;
  }
};

/// The likelier class, or, where there are two and a threshold, the second from there on.
int64_t choice(const std::vector<double>& shares, const std::optional<double>& threshold) {
  if (threshold && shares.size() == 2) {
    return shares[1] >= *threshold ? 1 : 0;
  }
  return std::max_element(shares.begin(), shares.end()) - shares.begin();
}

void add_class_ranking(const ClassJudged& judged, Figures& figures) {
  std::vector<double> areas;
  std::vector<double> precisions;
  for (int64_t name = judged.classes == 2 ? 1 : 0; name < judged.classes; ++name) {
    const auto is_label = judged.is_label(name);
    const auto scores = column_of(judged.shares, name);
    areas.push_back(metrics::roc_auc(is_label, scores));
    precisions.push_back(metrics::average_precision(is_label, scores));
  }
  figures["eval_roc_auc"] = metrics::mean_of_defined(areas);
  figures["eval_average_precision"] = metrics::mean_of_defined(precisions);
}

/// Brier's score of two classes is that of the second, of more the sum over all, as scikit-learn
/// has it.
void add_class_calibration(const ClassJudged& judged, Figures& figures) {
  std::vector<bool> is_right;
  std::vector<double> confidence;
  double squares = 0;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const auto& shares = judged.shares[i];
    is_right.push_back(judged.found[i] == judged.labels[i]);
    confidence.push_back(shares[static_cast<std::size_t>(judged.found[i])]);
    for (int64_t name = judged.classes == 2 ? 1 : 0; name < judged.classes; ++name) {
      const double gap =
          shares[static_cast<std::size_t>(name)] - (judged.labels[i] == name ? 1 : 0);
      squares += gap * gap;
    }
  }
  figures["eval_calibration_error"] = metrics::calibration_error(is_right, confidence);
  figures["eval_brier_score"] =
      judged.rows.empty() ? 0 : squares / static_cast<double>(judged.rows.size());
}

/// Share of the rows whose label is among the five likeliest; of equal ones the first count.
double top_five(const ClassJudged& judged) {
  constexpr int64_t kMost = 5;
  int64_t hits = 0;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const auto& outputs = judged.rows[i].outputs;
    const auto label = static_cast<std::size_t>(judged.labels[i]);
    int64_t before = 0;
    for (std::size_t name = 0; name < outputs.size(); ++name) {
      before += outputs[name] > outputs[label] || (outputs[name] == outputs[label] && name < label);
    }
    hits += before < kMost ? 1 : 0;
  }
  return metrics::quotient(static_cast<double>(hits), static_cast<double>(judged.rows.size()));
}

class ClassEvaluation : public Evaluation {
 public:
  explicit ClassEvaluation(ClassOptions options) : options_(std::move(options)) {}

  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) override {
    seen_.add(model, batch, pass);
  }

  Figures result() const override {
    const auto judged = judge();
    const auto tally = tally_of(judged);
    const auto scores = judged.classes == 2 ? tally.of(1) : tally.macro_of_present();
    double loss = 0;
    for (const auto& row : judged.rows) {
      loss += cross_entropy_of(row.outputs, row.label);
    }
    const double right = metrics::accuracy(judged.labels, judged.found);
    Figures figures = {
        {"eval_loss", judged.rows.empty() ? 0 : loss / static_cast<double>(judged.rows.size())},
        {"eval_accuracy", right},
        {"eval_precision", scores.precision},
        {"eval_recall", scores.recall},
        {"eval_f1", scores.f1},
        {"eval_f1_macro", tally.macro_of_present().f1},
        {"eval_f1_weighted", tally.weighted().f1},
        {"eval_matthews_correlation",
         metrics::matthews_correlation(judged.labels, judged.found, judged.classes)}};
    if (judged.classes > 5) {
      figures["eval_top5_accuracy"] = top_five(judged);
    }
    if (judged.classes == 2) {
      figures["eval_combined_score"] = (right + scores.f1) / 2;  // as GLUE has it for MRPC and QQP
    }
    if (options_.tunes_threshold && judged.classes == 2) {
      figures["eval_threshold"] = judged.threshold;
    }
    add_class_ranking(judged, figures);
    add_class_calibration(judged, figures);
    return figures;
  }

  Json details() const override {
    const auto judged = judge();
    const auto tally = tally_of(judged);
    Json details = {{"labels", seen_.names()}, {"per_class", Json::object()}};
    for (int64_t name = 0; name < judged.classes; ++name) {
      details["per_class"][seen_.name(name)] =
          metrics::score_json(tally.of(name), tally.support(name));
    }
    if (judged.classes <= kLargestMatrix) {
      std::vector<std::vector<int64_t>> matrix(
          static_cast<std::size_t>(judged.classes),
          std::vector<int64_t>(static_cast<std::size_t>(judged.classes)));
      for (std::size_t i = 0; i < judged.labels.size(); ++i) {
        ++matrix[static_cast<std::size_t>(judged.labels[i])]
                [static_cast<std::size_t>(judged.found[i])];
      }
      details["confusion_matrix"] = matrix;  // rows: labels, columns: predictions
    }
    return details;
  }

  std::optional<std::vector<Verdict>> worst(int64_t most) const override {
    const auto judged = judge();
    return worst_of(
        judged.rows, most, [](const Seen& row) { return cross_entropy_of(row.outputs, row.label); },
        [&](std::size_t row) { return facts_of(judged, row); });
  }

 private:
  ClassJudged judge() const {
    ClassJudged judged;
    judged.rows = seen_.rows();
    judged.classes = seen_.outputs();
    for (const auto& row : judged.rows) {
      judged.labels.push_back(row.label);
      judged.shares.push_back(softmax_of(row.outputs));
    }
    auto threshold = options_.threshold;
    if (options_.tunes_threshold && judged.classes == 2) {
      threshold = metrics::best_threshold(judged.is_label(1), column_of(judged.shares, 1),
                                          *options_.tunes_threshold);
    }
    judged.threshold = threshold.value_or(0.5);
    for (const auto& shares : judged.shares) {
      judged.found.push_back(choice(shares, threshold));
    }
    return judged;
  }

  Json facts_of(const ClassJudged& judged, std::size_t row) const {
    const auto& shares = judged.shares[row];
    Json facts = {{"label", seen_.name(judged.labels[row])},
                  {"prediction", seen_.name(judged.found[row])},
                  {"is_right", judged.labels[row] == judged.found[row]},
                  {"score", shares[static_cast<std::size_t>(judged.found[row])]},
                  {"scores", Json::object()}};
    for (int64_t name = 0; name < judged.classes; ++name) {
      facts["scores"][seen_.name(name)] = shares[static_cast<std::size_t>(name)];
    }
    return facts;
  }

  static metrics::Tally tally_of(const ClassJudged& judged) {
    metrics::Tally tally(judged.classes);
    for (std::size_t i = 0; i < judged.labels.size(); ++i) {
      tally.add(judged.labels[i], judged.found[i]);
    }
    return tally;
  }

  ClassOptions options_;
  SeenRows seen_;
};

}  // namespace

std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options) {
  return std::make_unique<ClassEvaluation>(options);
}

}  // namespace weft::objectives
