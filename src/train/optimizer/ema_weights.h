#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Exponential moving average (EMA) of the trained weights, in fp32: after update t it is d *
/// average + (1 - d) * weights, where d is the configured decay, during warmup at most (1 + t) /
/// (10 + t).
class EmaWeights {
 public:
  /// Starts from the current weights. The flat parameters must outlive it.
  EmaWeights(const EmaOptions& options, FlatParameters& flat_parameters);

  /// After update `updates`, counted from 1.
  void update(int64_t updates);
  const at::Tensor& values() const { return values_; }  // of the owned trained elements

  /// While in scope, the module computes on the average; afterwards the weights are restored bit
  /// for bit.
  class EmaScope {
   public:
    explicit EmaScope(EmaWeights& ema);
    EmaScope(const EmaScope&) = delete;
    EmaScope& operator=(const EmaScope&) = delete;
    ~EmaScope();

   private:
    EmaWeights& ema_;
  };

 private:
  void swap_weights();

  EmaOptions options_;
  FlatParameters& flat_parameters_;
  at::Tensor values_;
};

}  // namespace weft::train
