#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <torch/nn/module.h>

#include "kernels/recurrent.h"
#include "nn/component.h"
#include "nn/forward_context.h"
#include "nn/linear.h"

namespace weft::nn {

/// What a recurrent layer gives to every cell.
struct CellOptions {
  int64_t dim = 0;    // D, of the input
  int64_t width = 0;  // H, of the state
};

/// Rows of a packed batch in the order of computation: the first token of each sequence, the second
/// ones, ... Longer sequences come first, so those that continue are always the first rows.
struct TimeSteps {
  std::vector<int64_t> sequences;  // by falling length
  std::vector<int64_t> counts;     // tokens of each step
  std::vector<int64_t> tokens;     // N: the token at each place of this order
  std::vector<int64_t> places;     // N: the place of each token
};

/// `is_reverse`: each sequence from its own last token to its first.
TimeSteps time_steps_of(const kernels::Layout& layout, bool is_reverse = false);

/// A recurrent cell: reads each sequence of a packed batch from left to right.
class RecurrentCell : public torch::nn::Module {
 public:
  /// `gates`: rows of its weights per unit; `state_width`: of the state, which may be projected.
  RecurrentCell(const CellOptions& options, int64_t gates, int64_t state_width);

  /// The states after all tokens, in the order of `steps`, from those before (of its sequences).
  /// x (N, D), in the order of the tokens -> state (N, S), cell state (N, H).
  kernels::RecurrentState states(const at::Tensor& x,
                                 const kernels::RecurrentState& before,
                                 const TimeSteps& steps,
                                 const ForwardContext& context);

  /// The states in the order of the tokens, of sequences that begin with zero: (N, D) -> (N, S).
  /// `is_reverse`: of what each sequence has from its end to the token.
  at::Tensor token_states(const at::Tensor& x, bool is_reverse, const ForwardContext& context);

  /// The state after one more token of each sequence: x (B, D).
  kernels::RecurrentState next(const at::Tensor& x,
                               const kernels::RecurrentState& before,
                               const ForwardContext& context);

  /// The state in which a sequence begins, zero: (B, ...).
  virtual kernels::RecurrentState initial_state(int64_t sequences, const at::Tensor& x) const;
  int64_t state_width() const { return state_width_; }
  /// Dropout of the weights of the state, in training.
  void set_weight_dropout(double rate, uint32_t site) { hidden_->set_weight_dropout(rate, site); }

 protected:
  /// The cell among those with a fused pass; nullopt: it overrides `step`.
  virtual std::optional<kernels::CellRule> rule() const = 0;
  /// One step. from_input (b, gates) -> the state after.
  virtual kernels::RecurrentState step(const at::Tensor& from_input,
                                       const kernels::RecurrentState& before,
                                       const ForwardContext& context);
  /// Added to the gates besides the biases: (gates), or undefined.
  virtual at::Tensor gate_offsets() const { return {}; }

  Linear input_{nullptr};       // (G H, D)
  Linear hidden_{nullptr};      // (G H, S)
  Linear projection_{nullptr};  // (S, H), of an LSTM with a projected state
  CellOptions options_;

 private:
  bool is_fused(const at::Tensor& by_time) const;
  kernels::RecurrentState states_by_step(const at::Tensor& by_time,
                                         const kernels::RecurrentState& before,
                                         const std::vector<int64_t>& counts,
                                         const ForwardContext& context);

  int64_t state_width_;
};

using RecurrentCellDefinition = ComponentDefinition<RecurrentCell, CellOptions>;
using CellMaker = RecurrentCellDefinition::Maker;

/// The values of `model.recurrent.cell`.
const Registry<RecurrentCellDefinition>& recurrent_cells();

/// Adds a cell; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_recurrent_cell(const RecurrentCellDefinition& definition);

/// LSTM in the form of torch::nn::LSTM, with an optional projection of the state.
CellMaker read_lstm(config::Section& section);
/// GRU (arXiv:1406.1078), in the form of torch::nn::GRU or of the paper.
CellMaker read_gru(config::Section& section);
/// Elman network, in the form of torch::nn::RNN.
CellMaker read_rnn(config::Section& section);

}  // namespace weft::nn
