#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/optimizer.h"
#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer_options.h"
#include "train/optimizer/optimizer_registry.h"

namespace weft::train {

/// Updates the trained part of the flat parameters from the gradient, each segment by the optimizer
/// of its group, and keeps the optimizer state in flat tensors.
class Optimizer {
 public:
  /// The flat parameters and the group must outlive the optimizer, and their segments' groups must
  /// be those of the options. Moments are initialised to zero. Throws std::invalid_argument for an
  /// unknown type, UserError for one that cannot update sharded parameters.
  Optimizer(const OptimizerOptions& options,
            const FlatParameters& flat_parameters,
            ProcessGroup& group = single_process());

  /// Does one update at rate `lr`, times each segment's factor and, with scale_parameter, the RMS
  /// of its weights, at least 1e-3 (arXiv:1804.04235, section 8; on a GPU this synchronizes).
  /// `gradient`: flat, of the owned trained elements, in any type the kernels read; it is
  /// multiplied by `gradient_scale` when read, and zeroed afterwards. `nonzero_blocks`: those of
  /// the gradient, if known.
  void update(const at::Tensor& gradient,
              double lr,
              double gradient_scale,
              const kernels::NonzeroBlocks& nonzero_blocks = {});

  /// State tensors of all groups with their names in a checkpoint; fp32, of
  /// the owned trained elements.
  const std::vector<std::pair<std::string, at::Tensor>>& moments() const { return moments_; }

  /// Weight decay of the segment's group, whether or not the segment decays.
  double weight_decay(const ParameterSegment& segment) const;
  /// Updates done so far.
  int64_t updates() const { return updates_; }
  /// Sets the number of updates done, after the moments were loaded.
  void resume(int64_t updates);

 private:
  /// How one group is updated.
  struct Rule {
    OptimizerOptions options;  // `own` is set
    OptimizerDefinition definition;
    std::vector<at::Tensor> state;  // of moments_, in the definition's order
  };
  Rule make_rule(const OptimizerOptions& options) const;
  std::vector<double> parameter_scales() const;

  const FlatParameters& flat_parameters_;
  ProcessGroup& group_;
  std::vector<std::pair<std::string, at::Tensor>> moments_;
  std::vector<Rule> rules_;  // by group
  int64_t updates_ = 0;
  kernels::NonzeroBlocks nonzero_moment_blocks_;
};

/// Names of the state tensors of all groups, each once.
std::vector<std::string> optimizer_state_names(const OptimizerOptions& options);

}  // namespace weft::train
