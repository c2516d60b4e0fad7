#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objectives/objective.h"

namespace weft::objectives {

/// Predicts a target text from a source text, token by token (arXiv:1409.3215), with label
/// smoothing (arXiv:1706.03762, section 5.4). The examples of its data have a source; objectives
/// that make sources of other texts derive from it. The loss term has the objective's name.
class ConditionalLmObjective : public Objective {
 public:
  /// `target_fraction`: usual number of targets per token of source and target together.
  explicit ConditionalLmObjective(double target_fraction, double label_smoothing = 0)
      : target_fraction_(target_fraction), label_smoothing_(label_smoothing) {}

  models::Head head(const models::ModelOptions& model) const override;
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override;
  std::vector<std::string> terms() const override { return {std::string(name())}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override;
  std::unique_ptr<Evaluation> evaluation() const override;
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override;

 private:
  double target_fraction_;
  double label_smoothing_;
};

}  // namespace weft::objectives
