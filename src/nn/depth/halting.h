#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/initial_values.h"
#include "nn/row_selection.h"

namespace weft::nn {

/// What halts.
enum class HaltingUnit { kToken, kSequence };

struct HaltingOptions {
  HaltingUnit unit = HaltingUnit::kToken;
  double epsilon = 0.01;  // a token halts when its probabilities add up to more than 1 - epsilon
  double loss_weight = 0.01;  // of the mean of steps plus remainder
  double initial_bias = 1;

  bool operator==(const HaltingOptions&) const = default;
};

/// Adaptive computation time over the layers of a stack (arXiv:1603.08983; for Transformers
/// arXiv:1807.03819, section 2.2). Behind each layer a token halts with a probability that depends
/// on its state; its output is the mean of its states, weighted by the probabilities of halting. A
/// token that has halted keeps its last state, which others still attend to.
class HaltingImpl : public torch::nn::Module, public InitialValues {
 public:
  HaltingImpl(int64_t dim, const HaltingOptions& options);

  /// One layer: the states of all tokens (N, D) -> those of the selected tokens (M, D), or of all
  /// where the selection is null.
  using Layer = std::function<at::Tensor(
      std::size_t layer, const at::Tensor& states, const RowSelection* selection)>;

  struct Pass {
    std::size_t layers = 0;
    bool skips_tokens = true;  // computes only those that have not halted
    bool skips_layers = true;  // stops when all tokens have halted
  };
  /// (N, D) -> (N, D). Adds the losses `ponder` (steps plus remainder) and `halting_steps` (not
  /// part of the total loss) to the context's.
  at::Tensor forward(const at::Tensor& x,
                     const ForwardContext& context,
                     const Pass& pass,
                     const Layer& layer);

  void initialize(const std::string& name, at::Tensor parameter) const override;

 private:
  /// Probability that each row halts, (M, 1) in fp32 (fp64 for fp64 states).
  at::Tensor probabilities(const at::Tensor& states, const kernels::Layout& layout) const;

  HaltingOptions options_;
  at::Tensor weight_;  // (1, D)
  at::Tensor bias_;    // (1)
};
TORCH_MODULE(Halting);

}  // namespace weft::nn
