#include <algorithm>
#include <cmath>
#include <utility>

#include "metrics/calibration.h"
#include "metrics/metrics.h"
#include "metrics/tally.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/seen.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Figures = std::map<std::string, double>;

/// Everything that the figures are computed from, in the order of the items.
struct FlagJudged {
  std::vector<Seen> rows;
  std::vector<std::vector<double>> shares;  // probabilities
  double threshold = 0.5;
  int64_t classes = 0;

  bool is_wanted(std::size_t row, int64_t name) const {
    return rows[row].values[static_cast<std::size_t>(name)] > 0;
  }
  bool is_found(std::size_t row, int64_t name) const {
    return shares[row][static_cast<std::size_t>(name)] >= threshold;
  }
  std::vector<bool> wanted(int64_t name) const {
    std::vector<bool> flags;
    flags.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      flags.push_back(is_wanted(row, name));
    }
    return flags;
  }
};

/// All decisions of all rows and classes, in one line.
struct Decided {
  std::vector<bool> wanted;
  std::vector<double> shares;
};

Decided all_of(const FlagJudged& judged) {
  Decided all;
  for (std::size_t row = 0; row < judged.rows.size(); ++row) {
    for (int64_t name = 0; name < judged.classes; ++name) {
      all.wanted.push_back(judged.is_wanted(row, name));
    }
    all.shares.insert(all.shares.end(), judged.shares[row].begin(), judged.shares[row].end());
  }
  return all;
}

/// Rows with every class right, and decisions that are wrong.
void add_agreement(const FlagJudged& judged, Figures& figures) {
  double whole = 0;
  double wrong = 0;
  double loss = 0;
  for (std::size_t row = 0; row < judged.rows.size(); ++row) {
    double misses = 0;
    for (int64_t name = 0; name < judged.classes; ++name) {
      misses += judged.is_wanted(row, name) == judged.is_found(row, name) ? 0 : 1;
    }
    whole += misses == 0 ? 1 : 0;
    wrong += misses;
    loss += flag_loss_of(judged.rows[row].outputs, judged.rows[row].values);
  }
  const auto rows = static_cast<double>(std::max<std::size_t>(judged.rows.size(), 1));
  figures["eval_loss"] = loss / rows;
  figures["eval_accuracy"] = whole / rows;
  figures["eval_hamming_loss"] =
      wrong / (rows * static_cast<double>(std::max<int64_t>(judged.classes, 1)));
}

void add_flag_ranking(const FlagJudged& judged, Figures& figures) {
  std::vector<double> areas;
  std::vector<double> precisions;
  for (int64_t name = 0; name < judged.classes; ++name) {
    const auto wanted = judged.wanted(name);
    const auto scores = column_of(judged.shares, name);
    areas.push_back(metrics::roc_auc(wanted, scores));
    precisions.push_back(metrics::average_precision(wanted, scores));
  }
  figures["eval_roc_auc"] = metrics::mean_of_defined(areas);
  figures["eval_average_precision"] = metrics::mean_of_defined(precisions);
}

void add_flag_calibration(const FlagJudged& judged, Figures& figures) {
  const auto all = all_of(judged);
  double squares = 0;
  for (std::size_t i = 0; i < all.shares.size(); ++i) {
    const double gap = all.shares[i] - (all.wanted[i] ? 1 : 0);
    squares += gap * gap;
  }
  figures["eval_calibration_error"] = metrics::calibration_error(all.wanted, all.shares);
  figures["eval_brier_score"] =
      all.shares.empty() ? 0 : squares / static_cast<double>(all.shares.size());
}

class FlagEvaluation : public Evaluation {
 public:
  explicit FlagEvaluation(ClassOptions options) : options_(std::move(options)) {}

  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) override {
    seen_.add(model, batch, pass);
    check_values(batch, seen_.outputs());
  }

  Figures result() const override {
    const auto judged = judge();
    const auto tally = tally_of(judged);
    const auto micro = tally.micro();
    Figures figures = {{"eval_precision", micro.precision},
                       {"eval_recall", micro.recall},
                       {"eval_f1", micro.f1},
                       {"eval_f1_macro", tally.macro().f1},
                       {"eval_f1_weighted", tally.weighted().f1}};
    if (options_.tunes_threshold) {
      figures["eval_threshold"] = judged.threshold;
    }
    add_agreement(judged, figures);
    add_flag_ranking(judged, figures);
    add_flag_calibration(judged, figures);
    return figures;
  }

  Json details() const override {
    const auto judged = judge();
    const auto tally = tally_of(judged);
    Json details = {{"labels", seen_.names()},
                    {"per_class", Json::object()},
                    {"confusion_matrix", Json::object()}};
    for (int64_t name = 0; name < judged.classes; ++name) {
      details["per_class"][seen_.name(name)] =
          metrics::score_json(tally.of(name), tally.support(name));
      const auto hits = std::llround(tally.hits(name));
      const auto misses = std::llround(tally.support(name)) - hits;
      const auto alarms = std::llround(tally.found(name)) - hits;
      const auto rest = static_cast<int64_t>(judged.rows.size()) - hits - misses - alarms;
      // Rows: not wanted and wanted; columns: not found and found.
      details["confusion_matrix"][seen_.name(name)] = {{rest, alarms}, {misses, hits}};
    }
    return details;
  }

  std::optional<std::vector<Verdict>> worst(int64_t most) const override {
    const auto judged = judge();
    return worst_of(
        judged.rows, most, [](const Seen& row) { return flag_loss_of(row.outputs, row.values); },
        [&](std::size_t row) { return facts_of(judged, row); });
  }

 private:
  FlagJudged judge() const {
    FlagJudged judged;
    judged.rows = seen_.rows();
    judged.classes = seen_.outputs();
    for (const auto& row : judged.rows) {
      judged.shares.push_back(sigmoid_of(row.outputs));
    }
    judged.threshold = options_.threshold.value_or(0.5);
    if (options_.tunes_threshold) {
      const auto all = all_of(judged);
      judged.threshold = metrics::best_threshold(all.wanted, all.shares, *options_.tunes_threshold);
    }
    return judged;
  }

  static metrics::Tally tally_of(const FlagJudged& judged) {
    metrics::Tally tally(judged.classes);
    for (std::size_t row = 0; row < judged.rows.size(); ++row) {
      for (int64_t name = 0; name < judged.classes; ++name) {
        tally.decide(name, judged.is_wanted(row, name), judged.is_found(row, name));
      }
    }
    return tally;
  }

  Json facts_of(const FlagJudged& judged, std::size_t row) const {
    Json facts = {{"labels", Json::array()},
                  {"predictions", Json::array()},
                  {"is_right", false},
                  {"scores", Json::object()}};
    for (int64_t name = 0; name < judged.classes; ++name) {
      if (judged.is_wanted(row, name)) {
        facts["labels"].push_back(seen_.name(name));
      }
      if (judged.is_found(row, name)) {
        facts["predictions"].push_back(seen_.name(name));
      }
      facts["scores"][seen_.name(name)] = judged.shares[row][static_cast<std::size_t>(name)];
    }
    facts["is_right"] = facts["labels"] == facts["predictions"];
    return facts;
  }

  ClassOptions options_;
  SeenRows seen_;
};

}  // namespace

std::unique_ptr<Evaluation> make_flag_evaluation(const ClassOptions& options) {
  return std::make_unique<FlagEvaluation>(options);
}

}  // namespace weft::objectives
