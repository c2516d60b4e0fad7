#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/row_selection.h"

/// Conditional computation (CCT, arXiv:2002.07106): a small network decides for each token which
/// sub-layers compute it.
namespace weft::nn {

class Sublayer;

struct ComputationGateOptions {
  int64_t hidden = 128;                 // width of the gate's hidden layer
  double noise = 1;                     // standard deviation in training, after the warm-up
  int64_t warmup = 1000;                // steps over which the noise grows from 0
  std::vector<double> budgets = {0.5};  // shares of the gates that are to be open, in (0, 1]
  double loss = 1;                      // weight of the mean of |share of open gates - budget|
  double budget = 0.5;                  // one of `budgets`: that outside training

  /// Whether both have the same parameters and budgets; training may differ.
  bool operator==(const ComputationGateOptions& other) const {
    return hidden == other.hidden && budgets == other.budgets;
  }
};

/// Gate of the rows of a tensor: g = sigmoid(MLP(x) + noise) in training, else g = 1 where MLP(x)
/// >= 0 and 0 elsewhere. With several budgets, each sequence of a training step draws one, and a
/// learned vector of the budget is added to the hidden layer of the MLP.
class ComputationGateImpl : public torch::nn::Module {
 public:
  /// `site`: of its noise.
  ComputationGateImpl(int64_t dim, const ComputationGateOptions& options, uint32_t site);

  struct Gates {
    at::Tensor factors;                // g, (N, 1), of the dtype of x
    std::optional<RowSelection> open;  // outside training: the rows with g = 1
    bool are_all_open() const { return open && open->index.size(0) == factors.size(0); }
  };

  /// x (N, D), whose layout and random keys are those of the context. Adds to the auxiliary losses
  /// `gate`, the share of open gates of each sequence and its budget.
  Gates forward(const at::Tensor& x, const ForwardContext& context) const;

  /// The budget outside training. Throws UserError if it is not one of the options.
  void set_budget(double budget);

 private:
  /// Index of the budget of each sequence, B.
  std::vector<std::size_t> budgets_of(const ForwardContext& context) const;
  at::Tensor logits(const at::Tensor& x,
                    const std::vector<std::size_t>& budgets,
                    const ForwardContext& context) const;  // (N, 1), fp32 or fp64
  at::Tensor noise(const at::Tensor& logits, const ForwardContext& context) const;

  ComputationGateOptions options_;
  uint32_t site_;
  std::size_t budget_ = 0;    // index in options_.budgets, outside training
  at::Tensor hidden_weight_;  // (hidden, D)
  at::Tensor hidden_bias_;    // (hidden)
  at::Tensor output_weight_;  // (1, hidden)
  at::Tensor output_bias_;    // (1)
  at::Tensor budgets_;        // (budgets, hidden); undefined for one
};
TORCH_MODULE(ComputationGate);

/// Makes the gate of a tensor with `dim` features.
using ComputationGateMaker = std::function<ComputationGate(int64_t dim)>;

/// What a gated sub-layer returns, times the gate; outside training only the open rows are
/// computed. `selection`: the rows that are wanted, null: all. `finish`: applied to the output
/// before the gate, each row by itself. (N, D) -> (N, D), or (M, D) for selected rows.
at::Tensor gated_forward(const ComputationGateImpl& gate,
                         Sublayer& sublayer,
                         const at::Tensor& x,
                         const ForwardContext& context,
                         const RowSelection* selection,
                         const std::function<at::Tensor(const at::Tensor&)>& finish);

/// x W^T + b of gated rows g x, for some outputs of a linear layer: those of closed rows, b, are
/// not computed. `product` computes x W^T + b of rows. `bias` (outputs), undefined: none.
at::Tensor gated_product(const ComputationGateImpl::Gates& gates,
                         const at::Tensor& x,
                         const at::Tensor& bias,
                         const std::function<at::Tensor(const at::Tensor&)>& product);

/// The same given x W^T + b of all rows, (N, outputs).
at::Tensor gated_rows(const ComputationGateImpl::Gates& gates,
                      const at::Tensor& outputs,
                      const at::Tensor& bias);

/// Sets the budget outside training of all gates of a model. Throws UserError if it has none, or
/// not for this budget.
void set_computation_budget(torch::nn::Module& model, double budget);

}  // namespace weft::nn
