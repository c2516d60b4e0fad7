#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "train/optimizer/arena.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Exponential moving average of the trained weights, in fp32: after update t it is
/// d * average + (1 - d) * weights, with d the option's decay, in the warm-up at most
/// (1 + t) / (10 + t).
class WeightAverage {
 public:
  /// Begins with the arena's weights. The arena must outlive it.
  WeightAverage(const AverageOptions& options, Arena& arena);

  /// After update `updates`, counted from 1.
  void add(int64_t updates);
  const at::Tensor& values() const { return values_; }  // (trained_size)

  /// For as long as it lives, the module computes on the average; then on the weights again, bit
  /// for bit.
  class InUse {
   public:
    explicit InUse(WeightAverage& average);
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse();

   private:
    WeightAverage& average_;
  };

 private:
  void exchange();

  AverageOptions options_;
  Arena& arena_;
  at::Tensor values_;
};

}  // namespace weft::train
