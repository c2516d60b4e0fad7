#include "nn/stack.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "nn/activation_probe.h"
#include "nn/recompute.h"

namespace weft::nn {

namespace {

BlockOptions block_of_layer(const StackOptions& options, int64_t layer) {
  auto block = options.block;
  if (!options.attention.empty()) {
    block.attention = options.attention[static_cast<std::size_t>(layer)];
  }
  block.has_attention_norm = layer > 0 || options.has_first_norm;
  if (options.layers > 1) {
    block.path_dropout *= static_cast<double>(layer) / static_cast<double>(options.layers - 1);
  }
  block.layer = options.first_layer + layer;
  block.attention.layer = block.layer;
  block.cross_attention.layer = block.layer;
  block.feed_forward.layer = block.layer;
  return block;
}

/// One of a block's functions.
using Run = std::function<at::Tensor(const at::Tensor& x, const Pass& pass)>;

/// The block's function once more in the backward pass. What others computed and the block reads
/// goes in beside the stream, so that its gradient comes out.
at::Tensor recomputed_block(const Block& block,
                            const Run& run,
                            const at::Tensor& x,
                            const Pass& pass) {
  std::vector<at::Tensor> inputs{x};
  std::optional<Memory> memory;  // the pass's own may be gone by then
  if (pass.memory != nullptr) {
    memory = *pass.memory;
    inputs.push_back(memory->states);
  }
  const bool has_bias = pass.distance_bias.defined();
  if (has_bias) {
    inputs.push_back(pass.distance_bias);
  }
  return recomputed(inputs, block, [=](const std::vector<at::Tensor>& again) {
    auto inner = pass;
    auto states = memory;
    if (states) {
      states->states = again[1];
      inner.memory = &*states;
    }
    if (has_bias) {
      inner.distance_bias = again.back();
    }
    return run(again[0], inner);
  });
}

/// Who looks at what the block does sees it once.
at::Tensor through(const Block& block, const Run& run, const at::Tensor& x, const Pass& pass) {
  if (!pass.recomputes_layers || !at::GradMode::is_enabled() || pass.trace != nullptr) {
    return run(x, pass);
  }
  return recomputed_block(block, run, x, pass);
}

}  // namespace

Stack::Stack(const StackOptions& options) {
  const auto layers = static_cast<std::size_t>(options.layers);
  TORCH_CHECK(options.attention.empty() || options.attention.size() == layers, "attention of ",
              options.attention.size(), " layers for a stack of ", layers);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    blocks_.push_back(
        register_module(std::to_string(layer), make_block(block_of_layer(options, layer))));
  }
  if (options.relative.buckets > 0) {
    relative_bias_ = make_part<RelativeBias>("relative_bias", options.relative);
  }
  if (options.block.norm_place == NormPlace::kPre && options.has_final_norm) {
    norm_ = register_module("norm", make_norm(options.block.norm));
  }
}

Pass Stack::shared(const Pass& pass) const {
  auto result = pass;
  if (relative_bias_) {
    result.distance_bias = relative_bias_->forward(std::max<int64_t>(1, pass.layout.furthest));
  }
  return result;
}

at::Tensor Stack::through_first(std::size_t count, const at::Tensor& x, const Pass& pass) const {
  auto stream = ActivationProbe::shown("embeddings", x);
  for (std::size_t layer = 0; layer < count; ++layer) {
    const auto block = blocks_[layer];
    const auto run = [block](const at::Tensor& in, const Pass& own) {
      return block->forward(in, own);
    };
    stream = ActivationProbe::shown(layer, through(*block, run, stream, pass));
  }
  return stream;
}

at::Tensor Stack::forward(const at::Tensor& x, const Pass& given) {
  return normed(through_first(blocks_.size(), x, shared(given)));
}

at::Tensor Stack::rows(const at::Tensor& x, const Pass& given, const ChosenRows& chosen) {
  if (blocks_.empty() || chosen.index.size(0) == 0) {
    return chosen.of(forward(x, given));
  }
  const auto pass = shared(given);
  const auto last = blocks_.size() - 1;
  const auto block = blocks_[last];
  const auto run = [block, chosen](const at::Tensor& in, const Pass& own) {
    return block->rows(in, own, chosen);
  };
  const auto stream = through(*block, run, through_first(last, x, pass), pass);
  return normed(ActivationProbe::shown(last, stream));
}

at::Tensor Stack::normed(const at::Tensor& stream) const {
  return norm_ ? norm_->forward(stream) : stream;
}

}  // namespace weft::nn
