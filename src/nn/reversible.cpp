#include "nn/reversible.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "kernels/sum.h"
#include "nn/block.h"
#include "nn/block_context.h"
#include "nn/block_hook.h"

namespace weft::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A sub-layer adds to `first` what it computes from `second`; then the two change places.
struct Streams {
  at::Tensor first;   // (N, D)
  at::Tensor second;  // (N, D)
};

Streams streams_of(const at::Tensor& both) {
  const auto rows = both.size(0) / 2;
  return {both.narrow(0, 0, rows), both.narrow(0, rows, rows)};
}

at::Tensor both_of(const Streams& streams) { return at::cat({streams.first, streams.second}); }

at::Tensor branch_of_stream(const Block& block,
                            std::size_t sublayer,
                            const at::Tensor& stream,
                            const ForwardContext& context) {
  const auto type =
      context.reversible_pass ? context.reversible_pass->compute_type : stream.scalar_type();
  return block.branch(sublayer, stream.to(type), context).to(stream.scalar_type());
}

Streams selected(const Streams& streams, const RowSelection& selection) {
  return {selection.select(streams.first), selection.select(streams.second)};
}

/// Runs the sub-layers [first, last).
Streams run_sublayers(const Block& block,
                      std::size_t first,
                      std::size_t last,
                      Streams streams,
                      const ForwardContext& context) {
  for (auto i = first; i < last; ++i) {
    auto sum = streams.first + branch_of_stream(block, i, streams.second, context);
    streams = {std::move(streams.second), std::move(sum)};
  }
  return streams;
}

struct LayerCall : torch::CustomClassHolder {
  LayerCall(std::shared_ptr<const Block> given, const ForwardContext& of_pass)
      : block(std::move(given)), context(of_pass), pass(of_pass.reversible_pass) {}
  std::shared_ptr<const Block> block;
  BlockContext context;
  std::shared_ptr<ReversiblePass> pass;
  BlockHook* hook = BlockHook::current();
  int64_t layer = 0;                     // number of this one in the pass
  std::vector<AuxiliaryLoss> losses;     // of all sub-layers, without their sums
  std::vector<std::size_t> loss_begins;  // of each sub-layer
};

/// Sums of gradients by input.
class GradientSums {
 public:
  explicit GradientSums(std::size_t count) : sums_(count) {}
  void add(std::size_t index, const at::Tensor& gradient) {
    if (gradient.defined()) {
      auto& sum = sums_[index];
      sum = sum.defined() ? sum + gradient : gradient;
    }
  }
  variable_list take() { return std::move(sums_); }

 private:
  variable_list sums_;
};

// Parameter gradients are returned to autograd, as in nn/recompute.cpp.
class InvertibleLayer : public torch::autograd::Function<InvertibleLayer> {
 public:
  /// Output and auxiliary losses.
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& x,
                               at::TensorList tensors,
                               at::TensorList parameters,
                               const c10::intrusive_ptr<LayerCall>& call) {
    variable_list saved = tensors.vec();
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    if (call->hook != nullptr) {
      call->hook->before_forward(*call->block);
    }
    variable_list losses;
    auto streams = streams_of(x);
    for (std::size_t i = 0; i < call->block->sublayers(); ++i) {
      AuxiliaryLosses collected;
      const auto inner = call->context.with(tensors.data(), collected);
      streams = run_sublayers(*call->block, i, i + 1, std::move(streams), inner);
      call->loss_begins.push_back(losses.size());
      for (auto loss : collected.all()) {
        losses.push_back(std::exchange(loss.sum, {}));
        call->losses.push_back(std::move(loss));
      }
    }
    if (call->hook != nullptr) {
      call->hook->after_forward(*call->block);
    }
    auto& pass = *call->pass;
    call->layer = ++pass.layers;
    variable_list outputs{both_of(streams)};
    const auto kept = streams_of(outputs[0]);
    pass.first = kept.first.detach();
    pass.second = kept.second.detach();
    outputs.insert(outputs.end(), losses.begin(), losses.end());
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["call"].toCapsule();
    auto& call = static_cast<LayerCall&>(*capsule);
    auto& pass = *call.pass;
    TORCH_CHECK(pass.layers == call.layer, "the backward pass of reversible layer ", call.layer,
                " expects its output, but found that of layer ", pass.layers,
                "; they have one backward pass, from the last to the first");
    if (call.hook != nullptr) {
      call.hook->before_backward(*call.block);
    }
    Streams outputs{std::move(pass.first), std::move(pass.second)};
    auto slopes = streams_of(gradients[0]);
    GradientSums sums(saved.size());
    for (auto i = call.block->sublayers(); i-- > 0;) {
      invert_sublayer(*context, call, i, saved, gradients, outputs, slopes, sums);
    }
    pass.first = outputs.first;
    pass.second = outputs.second;
    --pass.layers;
    variable_list result{context->needs_input_grad(0) ? both_of(slopes) : at::Tensor()};
    for (auto& sum : sums.take()) {
      result.push_back(std::move(sum));
    }
    result.emplace_back();  // of the call
    return result;
  }

 private:
  /// Replaces the outputs of a sub-layer by its inputs, and their gradients likewise.
  static void invert_sublayer(AutogradContext& context,
                              LayerCall& call,
                              std::size_t sublayer,
                              const variable_list& saved,
                              const variable_list& gradients,
                              Streams& streams,
                              Streams& slopes,
                              GradientSums& sums) {
    variable_list leaves = saved;
    variable_list wanted{streams.first.detach().set_requires_grad(true)};
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (i < call.context.tensors().size()) {
        leaves[i] = saved[i].detach().set_requires_grad(context.needs_input_grad(i + 1));
      }
      if (context.needs_input_grad(i + 1)) {
        wanted.push_back(leaves[i]);
        indices.push_back(i);
      }
    }
    AuxiliaryLosses losses;
    variable_list outputs;
    {
      const at::AutoGradMode with_gradients(true);
      const auto inner = call.context.with(leaves.data(), losses);
      outputs.push_back(branch_of_stream(*call.block, sublayer, wanted[0], inner));
    }
    const auto branch = outputs[0].detach();
    variable_list output_gradients{slopes.second};
    for (std::size_t i = 0; i < losses.all().size(); ++i) {
      const auto& gradient = gradients[1 + call.loss_begins[sublayer] + i];
      if (gradient.defined() && losses.all()[i].sum.requires_grad()) {
        outputs.push_back(losses.all()[i].sum);
        output_gradients.push_back(gradient);
      }
    }
    auto own = slopes.first;
    if (outputs[0].requires_grad()) {
      const auto found =
          torch::autograd::grad(outputs, wanted, output_gradients, /*retain_graph=*/false,
                                /*create_graph=*/false, /*allow_unused=*/true);
      own = found[0].defined() ? own + found[0] : own;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        sums.add(indices[i], found[i + 1]);
      }
    }
    streams = {streams.second - branch, streams.first};
    slopes = {slopes.second, own};
  }
};

}  // namespace

at::Tensor duplicate_stream(const at::Tensor& x) {
  return at::cat({x, x}).to(kernels::accumulate_type(x));
}

at::Tensor merge_streams(const at::Tensor& streams, StreamMerge merge, at::ScalarType type) {
  const auto both = streams_of(streams);
  switch (merge) {
    case StreamMerge::kMean:
      return ((both.first + both.second) / 2).to(type);
    case StreamMerge::kConcatenate:
      return at::cat({both.first, both.second}, 1).to(type);
  }
  TORCH_CHECK(false, "no such merge of streams");
}

at::Tensor select_streams(const at::Tensor& streams, const RowSelection& selection) {
  return both_of(selected(streams_of(streams), selection));
}

at::Tensor forward_reversible(const Block& block,
                              const at::Tensor& streams,
                              const ForwardContext& context) {
  return both_of(run_sublayers(block, 0, block.sublayers(), streams_of(streams), context));
}

at::Tensor forward_reversible_selected(const Block& block,
                                       const at::Tensor& streams,
                                       const ForwardContext& context,
                                       const RowSelection& selection) {
  const auto mixed = last_mixing_sublayer(block) + 1;
  const auto all = run_sublayers(block, 0, mixed, streams_of(streams), context);
  return both_of(run_sublayers(block, mixed, block.sublayers(), selected(all, selection),
                               selection.select(context)));
}

at::Tensor invertible_layer(const std::shared_ptr<const Block>& block,
                            const at::Tensor& streams,
                            const ForwardContext& context) {
  TORCH_CHECK(context.reversible_pass != nullptr, "ForwardContext::reversible_pass is missing");
  std::vector<at::Tensor> parameters;
  for (const auto& item : block->named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.push_back(item.value());
    }
  }
  const auto call = c10::make_intrusive<LayerCall>(block, context);
  const auto outputs = InvertibleLayer::apply(streams, at::TensorList(call->context.tensors()),
                                              at::TensorList(parameters), call);
  for (std::size_t i = 0; i < call->losses.size(); ++i) {
    auto loss = call->losses[i];
    loss.sum = outputs[i + 1];
    context.auxiliary_losses->add(std::move(loss));
  }
  return outputs[0];
}

}  // namespace weft::nn
