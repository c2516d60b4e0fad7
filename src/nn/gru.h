#pragma once

#include <cstdint>
#include <string>

#include "nn/linear.h"
#include "nn/sublayer.h"

namespace weft::nn {

struct GruOptions {
  int64_t dim = 0;    // D
  int64_t width = 0;  // H, of the state
  int64_t layer = 0;  // identifies its state
};

/// Gated recurrent unit (arXiv:1406.1078) in the form of torch::nn::GRU, with an output projection
/// (H -> D). Reads each sequence from its first token to its last.
class Gru : public Sublayer {
 public:
  explicit Gru(const GruOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  bool mixes_tokens() const override { return true; }
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override;

 private:
  /// The state after each token: (N, D) -> (N, H).
  at::Tensor states(const at::Tensor& x, const ForwardContext& context);
  /// The next state of the sequences that continue: gates (b, 3 H) of their tokens, state (b, H).
  at::Tensor next_state(const at::Tensor& gates,
                        const at::Tensor& state,
                        const ForwardContext& context);

  /// The states (B, H) that the sequences begin with: zero, or what an earlier pass of generation
  /// or an earlier step of the stream has kept.
  at::Tensor states_before(const at::Tensor& gates, const ForwardContext& context) const;
  /// Keeps the states after the last tokens.
  void keep_states(const at::Tensor& before,
                   const at::Tensor& states,
                   const ForwardContext& context) const;

  GruOptions options_;
  std::string name_;        // of the carried state
  Linear input_{nullptr};   // (3 H, D): rows of the reset gate, the update gate, the candidate
  Linear hidden_{nullptr};  // (3 H, H)
  Linear output_{nullptr};  // (D, H)
};

/// Reads `model.recurrent`.
SublayerDefinition::Maker read_gru(config::Section& section);

}  // namespace weft::nn
