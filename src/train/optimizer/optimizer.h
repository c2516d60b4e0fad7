#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/optimizer.h"
#include "train/optimizer/arena.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Changes the arena's trained weights by their gradients, and keeps the state that this needs in
/// flat tensors beside them.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update at the rate `lr`, times each segment's factor and, with scales_by_parameter, the
  /// root of the mean square of its weights, at least 1e-3 (arXiv:1804.04235, section 8; for this a
  /// GPU is waited for). `gradient`: flat, of the trained part's size, in any type the kernels
  /// read; it is multiplied by `gradient_scale` as it is read, and zero afterwards. `live`: its
  /// marks, where they are known.
  void update(const at::Tensor& gradient,
              double lr,
              double gradient_scale,
              const kernels::BlockMarks& live = {});

  /// The state's tensors and their names in a checkpoint, fp32, of the trained part's
  /// size.
  virtual std::vector<std::pair<std::string, at::Tensor>> moments() const = 0;

  double weight_decay() const { return options_.weight_decay; }
  /// Updates done so far.
  int64_t updates() const { return updates_; }
  /// After the moments were loaded: goes on from so many updates.
  void resume(int64_t updates);

 protected:
  /// Moments begin as zeros.
  Optimizer(const OptimizerOptions& options, const Arena& arena);
  /// Rate and decay are the segment's own.
  struct Rule {
    double lr = 0;
    double weight_decay = 0;
    double gradient_scale = 1;
  };
  /// `slice` lacks the moments, which are the type's own.
  virtual void update_segment(const ArenaSegment& segment,
                              kernels::UpdateSlice slice,
                              const Rule& rule) = 0;

  OptimizerOptions options_;
  const Arena& arena_;
  int64_t updates_ = 0;

 private:
  std::vector<double> scales() const;

  kernels::BlockMarks live_moments_;
};

/// What make_optimizer needs of the arena.
Segments segments_of(const OptimizerOptions& options);

/// The arena must outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Arena& arena);

}  // namespace weft::train
