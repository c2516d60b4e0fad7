#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <torch/nn/module.h>

#include "models/config/options.h"
#include "models/heads.h"
#include "models/model.h"
#include "nn/depth/exit_rule.h"
#include "nn/forward_context.h"
#include "nn/pooling/pooling.h"
#include "nn/stack.h"

namespace weft::models {

/// The stack and the two ends of a sequence classifier.
struct ExitPath {
  nn::StackImpl& stack;
  /// The rows that a classifier reads of hidden states, before or after the stack's final norm:
  /// (N, D) -> (B, D).
  std::function<at::Tensor(const at::Tensor& hidden, const nn::ForwardContext& context)> rows;
  /// The model's own classifier, after the last layer: (B, D) -> (B, C).
  std::function<at::Tensor(const at::Tensor& rows, const nn::ForwardContext& context)> classify;
};

/// Classifiers after all layers but the last, so that easy texts need fewer layers: DeeBERT
/// (arXiv:2004.12993) and PABEE (arXiv:2006.04152).
class EarlyExitsImpl : public torch::nn::Module {
 public:
  /// Throws UserError if the rule of the options cannot judge the model's outputs.
  explicit EarlyExitsImpl(const ModelOptions& options);

  /// Logits (B, C) of all classifiers, the model's own last, with the weight of their losses.
  std::vector<WeightedLogits> all_logits(const ExitPath& path,
                                         const at::Tensor& x,
                                         const nn::ForwardContext& context);

  /// Logits (B, C) of each sequence from the first classifier that the rule accepts. Sequences that
  /// have their answer leave the batch, so they do not depend on the others. Writes the numbers of
  /// layers to `context.exit_layers`.
  at::Tensor classify(const ExitPath& path, const at::Tensor& x, const nn::ForwardContext& context);

 private:
  struct Exit {
    nn::Pooler pooler{nullptr};
    ClassificationHead head{nullptr};
  };
  at::Tensor logits(std::size_t layer,
                    const ExitPath& path,
                    const at::Tensor& hidden,
                    const nn::ForwardContext& context);

  ModelOptions options_;
  std::shared_ptr<nn::ExitRule> rule_;
  std::vector<Exit> exits_;  // of the layers
};
TORCH_MODULE(EarlyExits);

}  // namespace weft::models
