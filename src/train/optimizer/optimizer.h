#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/optimizer.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Updates the trained part of the flat parameters from the gradient, and keeps the optimizer state
/// in flat tensors.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Does one update at rate `lr`, times each segment's factor and, with scale_parameter, the RMS
  /// of its weights, at least 1e-3 (arXiv:1804.04235, section 8; on a GPU this synchronizes).
  /// `gradient`: flat, (trained_size), in any type the kernels read; it is multiplied by
  /// `gradient_scale` when read, and zeroed afterwards. `nonzero_blocks`: those of the gradient, if
  /// known.
  void update(const at::Tensor& gradient,
              double lr,
              double gradient_scale,
              const kernels::NonzeroBlocks& nonzero_blocks = {});

  /// State tensors with their names in a checkpoint; fp32, (trained_size).
  virtual std::vector<std::pair<std::string, at::Tensor>> moments() const = 0;

  double weight_decay() const { return options_.weight_decay; }
  /// Updates done so far.
  int64_t updates() const { return updates_; }
  /// Sets the number of updates done, after the moments were loaded.
  void resume(int64_t updates);

 protected:
  /// Moments are initialised to zero.
  Optimizer(const OptimizerOptions& options, const FlatParameters& flat_parameters);
  /// Learning rate and weight decay of one segment.
  struct UpdateSettings {
    double lr = 0;
    double weight_decay = 0;
    double gradient_scale = 1;
  };
  /// `slice` comes without the moments, which depend on the optimizer type.
  virtual void update_segment(const ParameterSegment& segment,
                              kernels::UpdateSlice slice,
                              const UpdateSettings& settings) = 0;

  OptimizerOptions options_;
  const FlatParameters& flat_parameters_;
  int64_t updates_ = 0;

 private:
  std::vector<double> parameter_scales() const;

  kernels::NonzeroBlocks nonzero_moment_blocks_;
};

/// Segmentation that make_optimizer requires of the flat parameters.
Segmentation segmentation_of(const OptimizerOptions& options);

/// The flat parameters must outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const FlatParameters& flat_parameters);

}  // namespace weft::train
