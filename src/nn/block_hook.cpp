#include "nn/block_hook.h"

#include <utility>

#include <c10/util/Exception.h>

namespace weft::nn {

namespace {

thread_local BlockHook* hook_of_thread = nullptr;

}  // namespace

BlockHook::BlockHook() {
  TORCH_CHECK(hook_of_thread == nullptr, "BlockHook: the thread has one already");
  hook_of_thread = this;
}

BlockHook::~BlockHook() { hook_of_thread = nullptr; }

BlockHook* BlockHook::current() { return hook_of_thread; }

BlockFunction with_hook(BlockHook& hook, const Block& block, BlockFunction run) {
  return [&hook, &block, run = std::move(run)](const at::Tensor& x, const ForwardContext& context) {
    hook.before_forward(block);
    auto y = run(x, context);
    hook.after_forward(block);
    if (y.requires_grad()) {
      y.register_hook(
          [&hook, &block](const at::Tensor& /*gradient*/) { hook.before_backward(block); });
    }
    return y;
  };
}

void call_after_backward(BlockHook& hook, const Block& block, const at::Tensor& x) {
  if (x.requires_grad()) {
    x.register_hook(
        [&hook, &block](const at::Tensor& /*gradient*/) { hook.after_backward(block); });
  }
}

}  // namespace weft::nn
