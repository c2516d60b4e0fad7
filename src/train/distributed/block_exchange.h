#pragma once

#include <map>

#include <torch/nn/module.h>

#include "nn/block_hook.h"
#include "train/distributed/gradient_exchange.h"
#include "train/distributed/weight_exchange.h"

namespace weft::train {

/// Starts exchanges during forward and backward passes: fetches the weights of a block before it
/// runs, and sends its gradients when they are complete. Works in the thread that made it.
class BlockExchange : private nn::BlockHook {
 public:
  /// All references must outlive it. Blocks of other modules (a teacher) are ignored.
  BlockExchange(const torch::nn::Module& module,
                const FlatParameters& flat_parameters,
                GradientExchange& gradients,
                WeightExchange& weights);

  /// Before the forward pass of a micro-batch. `sends_gradients`: whether its backward pass
  /// completes the gradients of the exchange that has begun.
  void begin_forward(bool sends_gradients);
  void begin_backward() { is_backward_ = true; }
  /// After the backward pass: from here, blocks may be used without `begin_forward`.
  void end();

 private:
  void before_forward(const nn::Block& block) override;
  void after_forward(const nn::Block& block) override;
  void before_backward(const nn::Block& block) override;
  void after_backward(const nn::Block& block) override;
  const Unit* unit_of(const nn::Block& block) const;

  GradientExchange& gradients_;
  WeightExchange& weights_;
  std::map<const nn::Block*, const Unit*> units_;
  const Unit* last_ = nullptr;         // that the backward pass has reached
  std::map<const Unit*, int> passes_;  // forward passes whose backward pass is missing
  bool sends_gradients_ = false;
  bool is_backward_ = false;
};

}  // namespace weft::train
