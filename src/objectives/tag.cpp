#include "objectives/tag.h"

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/token_metrics.h"
#include "kernels/cross_entropy.h"
#include "kernels/to_device.h"
#include "objectives/data/sample_example.h"
#include "objectives/evaluation/tag_evaluation.h"

namespace weft::objectives {

namespace {

class TagObjective : public Objective {
 public:
  models::Head head() const override { return models::Head::kToken; }
  std::vector<std::string> terms() const override { return {"tag"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto logits =  // (M, C)
        batching::tag_logits(model,
                             batching::input_to_device(batch, context.layout.positions.device()),
                             batch, context);
    if (batch.targets.empty()) {
      return {batching::zero_loss(logits)};
    }
    return {kernels::cross_entropy_sum(logits, kernels::to_device(batch.targets, logits.device()))};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<TagEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    add_sample_targets(example, 1, models::head_outputs(model));
    return example;
  }
  std::string metric_for_best_model() const override { return "eval_f1"; }
};

}  // namespace

std::unique_ptr<Objective> make_tag_objective(const ObjectiveOptions& /*options*/) {
  return std::make_unique<TagObjective>();
}

}  // namespace weft::objectives
