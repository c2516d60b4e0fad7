#include "nn/stack.h"

#include <string>

#include <ATen/core/grad_mode.h>

#include "nn/pooler.h"
#include "nn/recompute.h"

namespace weft::nn {

namespace {

BlockOptions block_of_layer(const StackOptions& options, int64_t layer) {
  auto block = options.block;
  if (!options.attention.empty()) {
    block.attention = options.attention[static_cast<std::size_t>(layer)];
  }
  block.has_attention_norm = layer > 0 || options.has_first_norm;
  block.layer = layer;
  block.attention.layer = layer;
  block.feed_forward.layer = layer;
  return block;
}

/// One of the block's functions. Who looks at what the block does sees it once.
at::Tensor through(const std::shared_ptr<Block>& block,
                   at::Tensor (Block::*run)(const at::Tensor&, const Pass&),
                   const at::Tensor& x,
                   const Pass& pass) {
  if (!pass.recomputes_layers || !at::GradMode::is_enabled() || pass.trace != nullptr) {
    return (block.get()->*run)(x, pass);
  }
  return recomputed(
      x, *block, [block, run, pass](const at::Tensor& y) { return (block.get()->*run)(y, pass); });
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
  if (options.block.norm_place == NormPlace::kPre) {
    norm_ = register_module("norm", make_norm(options.block.norm));
  }
}

at::Tensor Stack::forward(const at::Tensor& x, const Pass& pass) {
  auto stream = x;
  for (const auto& block : blocks_) {
    stream = through(block, &Block::forward, stream, pass);
  }
  return normed(stream);
}

at::Tensor Stack::first_tokens(const at::Tensor& x, const Pass& pass) {
  if (blocks_.empty()) {
    return normed(nn::first_tokens(x, pass.layout));
  }
  auto stream = x;
  for (std::size_t layer = 0; layer + 1 < blocks_.size(); ++layer) {
    stream = through(blocks_[layer], &Block::forward, stream, pass);
  }
  return normed(through(blocks_.back(), &Block::first_tokens, stream, pass));
}

at::Tensor Stack::normed(const at::Tensor& stream) const {
  return norm_ ? norm_->forward(stream) : stream;
}

}  // namespace weft::nn
