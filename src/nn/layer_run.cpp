#include "nn/layer_run.h"

#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "nn/auxiliary_losses.h"
#include "nn/block_context.h"
#include "nn/block_hook.h"
#include "nn/recompute.h"
#include "nn/reversible.h"

namespace weft::nn {

namespace {

/// Runs the block again in the backward pass. Tensors computed elsewhere that the block reads are
/// passed as inputs too, so that they get gradients.
at::Tensor recompute_block(const Block& block,
                           const BlockFunction& run,
                           const at::Tensor& x,
                           const ForwardContext& context) {
  const auto own = std::make_shared<BlockContext>(context);
  std::vector<at::Tensor> inputs{x};
  inputs.insert(inputs.end(), own->tensors().begin(), own->tensors().end());
  return recompute_with_losses(
      inputs, block, context.auxiliary_losses,
      [=](const std::vector<at::Tensor>& again, AuxiliaryLosses& losses) {
        return std::vector{run(again[0], own->with(again.data() + 1, losses))};
      })[0];
}

/// No recomputation while attention is recorded, so that each block runs once.
bool runs_once(const ForwardContext& context) {
  return !at::GradMode::is_enabled() || context.attention_recorder != nullptr;
}

at::Tensor run_block(const Block& block,
                     BlockFunction run,
                     const at::Tensor& x,
                     const ForwardContext& context,
                     bool recomputes) {
  if (auto* const hook = BlockHook::current()) {
    call_after_backward(*hook, block, x);
    run = with_hook(*hook, block, run);
  }
  return recomputes && !runs_once(context) ? recompute_block(block, run, x, context)
                                           : run(x, context);
}

}  // namespace

std::vector<at::Tensor> recompute_with_losses(const std::vector<at::Tensor>& inputs,
                                              const torch::nn::Module& module,
                                              AuxiliaryLosses* receiver,
                                              const FunctionWithLosses& work) {
  // Auxiliary losses are outputs too: only so do they get a gradient.
  const auto losses = std::make_shared<std::vector<AuxiliaryLoss>>();
  auto outputs = recompute(inputs, module, [=](const std::vector<at::Tensor>& again) {
    AuxiliaryLosses collected;
    auto result = work(again, collected);
    *losses = collected.all();
    for (auto& loss : *losses) {
      result.push_back(std::exchange(loss.sum, {}));
    }
    return result;
  });
  const auto results = outputs.size() - losses->size();
  for (std::size_t i = 0; i < losses->size(); ++i) {
    auto loss = (*losses)[i];
    loss.sum = outputs[results + i];
    receiver->add(std::move(loss));
  }
  outputs.resize(results);
  return outputs;
}

at::Tensor run_reversible_layer(const std::shared_ptr<Block>& block,
                                const at::Tensor& streams,
                                const ForwardContext& context,
                                const RowSelection* selection) {
  if (selection != nullptr) {
    const BlockFunction run = [block, rows = *selection](const at::Tensor& in,
                                                         const ForwardContext& own) {
      return forward_reversible_selected(*block, in, own, rows);
    };
    return run_block(*block, run, streams, context, /*recomputes=*/true);
  }
  if (runs_once(context)) {
    const BlockFunction run = [block](const at::Tensor& in, const ForwardContext& own) {
      return forward_reversible(*block, in, own);
    };
    return run_block(*block, run, streams, context, /*recomputes=*/false);
  }
  if (auto* const hook = BlockHook::current()) {
    call_after_backward(*hook, *block, streams);
  }
  return invertible_layer(block, streams, context);
}

at::Tensor run_layer(const std::shared_ptr<Block>& block,
                     const at::Tensor& x,
                     const ForwardContext& context,
                     const RowSelection* selection) {
  BlockFunction run = [block](const at::Tensor& in, const ForwardContext& own) {
    return block->forward(in, own);
  };
  if (selection != nullptr) {
    run = [block, rows = *selection](const at::Tensor& in, const ForwardContext& own) {
      return block->forward_selected(in, own, rows);
    };
  }
  return run_block(*block, run, x, context, context.recomputes_layers);
}

}  // namespace weft::nn
