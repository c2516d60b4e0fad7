#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/forward_context.h"

namespace weft::nn {

/// What the sum of an auxiliary loss is divided by: the number of tokens, source and target, or of
/// sequences of the whole step, over all its micro-batches.
enum class LossUnit { kTokens, kSequences };

/// A part of the rows of each sequence, which is to be near a target. The loss of all layers
/// together is the mean over the sequences of |sum of their `AuxiliaryLoss::sum` / sum of their
/// counts - target|: over sequences, so that it does not depend on how a step is split.
struct SequenceShare {
  at::Tensor counts;   // (B) fp32: rows; `AuxiliaryLoss::sum`, (B), adds up numbers from 0 to 1
  at::Tensor targets;  // (B) fp32
};

/// A loss of a layer that is added to the objective's, such as the load balancing loss of a mixture
/// of experts.
struct AuxiliaryLoss {
  std::string name;  // in the log; losses of the same name are added up
  at::Tensor sum;    // fp32 scalar: a sum over the tokens or sequences of the batch
  LossUnit unit = LossUnit::kTokens;
  double weight = 1;  // of sum / unit in the total loss
  /// Of a layer that draws at random: `sum` is (B), the log-probability of what it has drawn for
  /// each sequence. Its loss is that log-probability times (loss of the sequence - baseline)
  /// (REINFORCE, Williams 1992), and not in the log.
  bool is_log_probability = false;
  std::optional<SequenceShare> share = {};
};

/// Collects the auxiliary losses of one forward pass. A loss that is a sum over tokens or sequences
/// is exact under gradient accumulation: it does not depend on how the step is split.
class AuxiliaryLosses {
 public:
  void add(AuxiliaryLoss loss) { losses_.push_back(std::move(loss)); }
  const std::vector<AuxiliaryLoss>& all() const { return losses_; }

  /// Whether a layer has drawn at random. Then the objective sets the loss of each sequence.
  bool has_draws() const {
    return std::any_of(losses_.begin(), losses_.end(),
                       [](const AuxiliaryLoss& loss) { return loss.is_log_probability; });
  }
  /// (B) without gradient: their sum is that of the objective.
  void set_sequence_losses(at::Tensor losses) { sequence_losses_ = std::move(losses); }
  /// Undefined if the objective has set none.
  const at::Tensor& sequence_losses() const { return sequence_losses_; }

 private:
  std::vector<AuxiliaryLoss> losses_;
  at::Tensor sequence_losses_;
};

/// Sets the loss of each sequence, from which layers that draw at random learn
/// (nn/auxiliary_losses.h), if there are any. `loss_of`: of sequence b, a scalar.
void set_sequence_losses(const ForwardContext& context,
                         int64_t sequences,
                         const std::function<at::Tensor(int64_t)>& loss_of);

}  // namespace weft::nn
