#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernels/total.h"
#include "metrics/metrics.h"
#include "metrics/ranking.h"
#include "objectives/evaluation/seen.h"
#include "objectives/loss/r_drop.h"
#include "objectives/sequence.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Figures = std::map<std::string, double>;

/// Figures of one number over all rows.
struct Fit {
  double squares = 0;   // mean square
  double distance = 0;  // mean distance
  double pearson = 0;
  double spearman = 0;
};

Fit fit_of(const std::vector<Seen>& rows, std::size_t place) {
  std::vector<double> wanted;
  std::vector<double> found;
  Fit fit;
  for (const auto& row : rows) {
    wanted.push_back(row.values[place]);
    found.push_back(row.outputs[place]);
    const double gap = wanted.back() - found.back();
    fit.squares += gap * gap;
    fit.distance += std::abs(gap);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  fit.squares /= count;
  fit.distance /= count;
  fit.pearson = metrics::pearson(found, wanted);
  fit.spearman = metrics::spearman(found, wanted);
  return fit;
}

double mean_square_of(const Seen& row) {
  double sum = 0;
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    sum += (row.values[i] - row.outputs[i]) * (row.values[i] - row.outputs[i]);
  }
  return sum / static_cast<double>(row.outputs.size());
}

class RegressEvaluation : public Evaluation {
 public:
  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) override {
    seen_.add(model, batch, pass);
    check_values(batch, seen_.outputs());
  }

  Figures result() const override {
    const auto rows = seen_.rows();
    std::vector<double> squares;
    std::vector<double> distances;
    std::vector<double> pearsons;
    std::vector<double> spearmans;
    for (std::size_t place = 0; place < static_cast<std::size_t>(seen_.outputs()); ++place) {
      const auto fit = fit_of(rows, place);
      squares.push_back(fit.squares);
      distances.push_back(fit.distance);
      pearsons.push_back(fit.pearson);
      spearmans.push_back(fit.spearman);
    }
    const double by_value = metrics::mean_of_defined(pearsons);
    const double by_rank = metrics::mean_of_defined(spearmans);
    return {{"eval_loss", squares.empty() ? 0 : metrics::mean_of_defined(squares)},
            {"eval_mae", distances.empty() ? 0 : metrics::mean_of_defined(distances)},
            {"eval_pearson", by_value},
            {"eval_spearmanr", by_rank},
            {"eval_combined_score", (by_value + by_rank) / 2}};  // as GLUE has it for STS-B
  }

  Json details() const override {
    Json details = Json::object();
    if (seen_.outputs() < 2) {
      return details;
    }
    const auto rows = seen_.rows();
    details["labels"] = seen_.names();
    for (int64_t place = 0; place < seen_.outputs(); ++place) {
      const auto fit = fit_of(rows, static_cast<std::size_t>(place));
      details["per_label"][seen_.name(place)] = {{"mse", fit.squares},
                                                 {"mae", fit.distance},
                                                 {"pearson", fit.pearson},
                                                 {"spearmanr", fit.spearman}};
    }
    return details;
  }

  std::optional<std::vector<Verdict>> worst(int64_t most) const override {
    const auto rows = seen_.rows();
    return worst_of(rows, most, mean_square_of, [&](std::size_t index) -> Json {
      const auto& row = rows[index];
      const bool is_one = row.outputs.size() == 1;
      return {{"label", is_one ? Json(row.values[0]) : Json(row.values)},
              {"prediction", is_one ? Json(row.outputs[0]) : Json(row.outputs)}};
    });
  }

 private:
  SeenRows seen_;
};

class RegressObjective : public Objective {
 public:
  explicit RegressObjective(const ObjectiveOptions& options) : r_drop_(options.r_drop) {}

  models::Head head() const override { return models::Head::kSequence; }
  std::vector<std::string> terms() const override { return {"regress"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.values.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::Pass& pass) const override {
    return {r_drop_loss(
        model, batch, pass, r_drop_,
        [&](const auto& outputs) {
          const auto values = outputs.to(at::kFloat);  // (B, T)
          return kernels::total((values - wanted_values(batch, values)).square());
        },
        [](const auto& first, const auto& second) {
          return kernels::total((first.to(at::kFloat) - second.to(at::kFloat)).square());
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<RegressEvaluation>();
  }

 private:
  double r_drop_;
};

}  // namespace

std::unique_ptr<Objective> make_regress_objective(const ObjectiveOptions& options) {
  return std::make_unique<RegressObjective>(options);
}

}  // namespace weft::objectives
