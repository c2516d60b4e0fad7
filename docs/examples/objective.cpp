// The program `weft` with an objective of our own, `objective.type: poly_loss`: classes of texts by
// PolyLoss (arXiv:2204.12511, equation 6): cross-entropy + epsilon (1 - p), where p is the
// probability of the right class. Data, head and evaluation are those of Weft's classification.
//
//   objective: {type: poly_loss, epsilon: 1}
#include "objectives/objective.h"

#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "cli/run.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "objectives/data/datasets.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/class_options.h"
#include "objectives/objective_registry.h"
#include "objectives/sequence_objective.h"

namespace {

namespace objectives = weft::objectives;
namespace data = weft::data;
namespace models = weft::models;

class PolyLoss : public objectives::SequenceObjective {
 public:
  explicit PolyLoss(double epsilon) : SequenceObjective(/*r_drop=*/0), epsilon_(epsilon) {}

  std::string_view name() const override { return "poly_loss"; }
  std::vector<std::string> terms() const override { return {"poly_loss"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {batch.sequences()};
  }

  /// A sum: the trainer divides it by the number of texts in the whole step.
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const weft::nn::ForwardContext& context) const override {
    const auto logits = objectives::sequence_outputs(model, batch, context);  // (B, C)
    const auto labels = weft::kernels::to_device(batch.labels, logits.device()).unsqueeze(1);
    const auto log_p = at::log_softmax(logits, 1, at::kFloat).gather(1, labels);  // (B, 1)
    return {weft::kernels::deterministic_sum(epsilon_ * (1 - log_p.exp()) - log_p)};
  }

  std::unique_ptr<objectives::Evaluation> evaluation() const override {
    return objectives::make_class_evaluation({});
  }

  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = objectives::sample_input(model, length);
    example.label = 0;
    return example;
  }

 private:
  objectives::Datasets read_datasets(const objectives::DatasetInputs& inputs) const override {
    return objectives::labelled_datasets(inputs, label_format(inputs.data));
  }

  double epsilon_;
};

std::unique_ptr<objectives::Objective> read_poly_loss(weft::config::Section& section) {
  double epsilon = 1;
  section.read("epsilon", epsilon,
               {.help = "Weight of 1 - p; 0: cross-entropy.", .range = weft::config::at_least(-1)});
  return std::make_unique<PolyLoss>(epsilon);
}

}  // namespace

int main(int argc, char** argv) {
  objectives::register_objective({"poly_loss", "classes of texts, by PolyLoss", read_poly_loss});
  return weft::run(argc, argv);
}
