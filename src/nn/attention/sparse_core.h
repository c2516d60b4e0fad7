#pragma once

#include <memory>
#include <vector>

#include "nn/attention/attention_core.h"
#include "nn/attention/patterns/sparse_groups.h"
#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

class DenseCore;

/// Softmax attention that computes only the scores of the keys that the patterns list. Queries with
/// common keys are gathered into groups, each of which is attention between few rows; where there
/// are several patterns, their results are merged by the sums that they divide by
/// (arXiv:2001.04451, section 2).
class SparseCore : public AttentionCore {
 public:
  /// A query attends to the keys of any pattern; if causal, to those before it. At least one
  /// pattern must list the query itself.
  SparseCore(const AttentionOptions& options, std::vector<std::shared_ptr<SparsePattern>> patterns);

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override;
  std::vector<at::Tensor> weights(const CoreInput& input, const ForwardContext& context) override;
  bool adds_positions() const override;

 private:
  AttentionOptions options_;
  std::vector<std::shared_ptr<SparsePattern>> patterns_;
  std::shared_ptr<DenseCore> dense_;  // the same with all scores, for weights and distance biases
};

}  // namespace weft::nn
