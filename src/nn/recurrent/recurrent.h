#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nn/dropout_sites.h"
#include "nn/linear.h"
#include "nn/recurrent/cell.h"
#include "nn/sublayer.h"

namespace weft::nn {

struct RecurrentOptions {
  int64_t dim = 0;        // D
  int64_t input_dim = 0;  // of the input; 0: D
  int64_t width = 0;      // H, of the state
  int64_t layer = 0;      // identifies its state
  CellMaker make_cell = {};
  bool is_bidirectional = false;
  bool has_output_projection = true;
  double weight_dropout = 0;  // of the weights of the state
  /// Of the input and the states, with one mask for all tokens of a sequence (arXiv:1512.05287).
  double variational_dropout = 0;
};

/// A recurrent cell with an output projection (S -> D), or without one, so that the states are the
/// output (S). Bidirectional: a second cell reads each sequence from its last token to its first,
/// and both states count (2 S); not for models that generate.
class Recurrent : public Sublayer {
 public:
  explicit Recurrent(const RecurrentOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  bool mixes_tokens() const override { return true; }
  std::optional<int64_t> output_dim() const override;
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override;

 private:
  int64_t states_width() const;
  /// The states after each token: (N, D) -> (N, S), or (N, 2 S).
  at::Tensor states(const at::Tensor& x, const ForwardContext& context);
  at::Tensor forward_states(const at::Tensor& x, const ForwardContext& context);

  /// What the sequences (B) begin with: zero, or what an earlier pass of generation or an earlier
  /// step of the stream has kept.
  kernels::RecurrentState state_before(const at::Tensor& x, const ForwardContext& context) const;
  /// Keeps what is there after the last tokens; `by_time` in the order of `steps`.
  void keep_state(const kernels::RecurrentState& before,
                  const kernels::RecurrentState& by_time,
                  const TimeSteps& steps,
                  const ForwardContext& context) const;

  at::Tensor sequence_dropout(const at::Tensor& x,
                              RecurrentDropoutSite site,
                              const ForwardContext& context) const;

  RecurrentOptions options_;
  std::shared_ptr<RecurrentCell> cell_;
  std::shared_ptr<RecurrentCell> reverse_cell_;  // null unless bidirectional
  Linear output_{nullptr};                       // null without a projection
};

/// Reads `model.recurrent`.
SublayerDefinition::Maker read_recurrent(config::Section& section);

}  // namespace weft::nn
