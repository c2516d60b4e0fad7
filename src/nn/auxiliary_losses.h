#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// What the sum of an auxiliary loss is divided by: the number of tokens, source and target, or of
/// sequences of the whole step, over all its micro-batches.
enum class LossUnit { kTokens, kSequences };

/// A loss of a layer that is added to the objective's, such as the load balancing loss of a mixture
/// of experts.
struct AuxiliaryLoss {
  std::string name;  // in the log; losses of the same name are added up
  at::Tensor sum;    // fp32 scalar: a sum over the tokens or sequences of the batch
  LossUnit unit = LossUnit::kTokens;
  double weight = 1;  // of sum / unit in the total loss
};

/// Collects the auxiliary losses of one forward pass. A loss that is a sum over tokens or sequences
/// is exact under gradient accumulation: it does not depend on how the step is split.
class AuxiliaryLosses {
 public:
  void add(AuxiliaryLoss loss) { losses_.push_back(std::move(loss)); }
  const std::vector<AuxiliaryLoss>& all() const { return losses_; }

 private:
  std::vector<AuxiliaryLoss> losses_;
};

}  // namespace weft::nn
