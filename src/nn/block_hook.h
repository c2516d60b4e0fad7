#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "nn/block.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Is told when a block's parameters are about to be used and when no longer, in the forward passes
/// of the thread that created it and their backward passes, for as long as it exists. At most one
/// per thread.
class BlockHook {
 public:
  BlockHook();
  BlockHook(const BlockHook&) = delete;
  BlockHook& operator=(const BlockHook&) = delete;
  virtual ~BlockHook();

  /// Around each forward pass, also of one that is repeated in the backward pass.
  virtual void before_forward(const Block& block) = 0;
  virtual void after_forward(const Block& block) = 0;
  /// `before_backward`: the gradient of the block's output is known. `after_backward`: so are the
  /// gradients of its input and parameters; not called if the input needs none, and called after
  /// `before_backward` of the block before it.
  virtual void before_backward(const Block& block) = 0;
  virtual void after_backward(const Block& block) = 0;

  /// The thread's hook; null if there is none.
  static BlockHook* current();
};

/// forward() or forward_selected() of a block.
using BlockFunction = std::function<at::Tensor(const at::Tensor& x, const ForwardContext& context)>;

/// `run`, which calls the block once, with the hook around it.
BlockFunction with_hook(BlockHook& hook, const Block& block, BlockFunction run);

/// Calls hook.after_backward when the gradient of x, the block's input, is known.
void call_after_backward(BlockHook& hook, const Block& block, const at::Tensor& x);

}  // namespace weft::nn
