#include "train/optimizer/layer_wise_lr_decay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "models/generator.h"

namespace weft::train {

namespace {

constexpr std::string_view kBlocks = "layers.";
constexpr std::string_view kDecoderBlocks = "decoder_layers.";

// i of `<stem>i.rest`; -1 where the parameter belongs to no block.
int64_t block_of(const std::string& parameter, std::string_view stem) {
  if (!parameter.starts_with(stem)) {
    return -1;
  }
  int64_t block = -1;
  std::from_chars(parameter.data() + stem.size(), parameter.data() + parameter.size(), block);
  return block;
}

bool is_below_blocks(const std::string& parameter) {
  return parameter.starts_with("embeddings.") || parameter.starts_with("projection.") ||
         parameter.starts_with("decoder_embeddings.");
}

}  // namespace

ParameterDepths::ParameterDepths(const std::vector<std::string>& parameters) {
  for (const auto& parameter : parameters) {
    blocks_ = std::max(blocks_, block_of(parameter, kBlocks) + 1);
    decoder_blocks_ = std::max(decoder_blocks_, block_of(parameter, kDecoderBlocks) + 1);
  }
}

int64_t ParameterDepths::of(const std::string& parameter) const {
  if (parameter.starts_with(models::kGeneratorPrefix)) {  // same depth as in the main model
    const auto own = parameter.substr(models::kGeneratorPrefix.size());
    const auto depth = of(own);
    return block_of(own, kBlocks) < 0 ? depth : std::min(depth, layers());
  }
  if (is_below_blocks(parameter)) {
    return 0;
  }
  if (const int64_t block = block_of(parameter, kBlocks); block >= 0) {
    return block + 1;
  }
  if (const int64_t block = block_of(parameter, kDecoderBlocks); block >= 0) {
    return blocks_ + block + 1;
  }
  if (parameter.starts_with("layers.input_convolution.")) {  // beside the first block
    return 1;
  }
  if (parameter.starts_with(kBlocks)) {
    return blocks_;
  }
  const bool is_above_blocks =
      parameter.starts_with(kDecoderBlocks) || parameter.starts_with("document.");
  return is_above_blocks ? layers() : layers() + 1;
}

LrScaleFunction layer_wise_lr_scales(const OptimizerOptions& options,
                                     const torch::nn::Module& model) {
  if (options.layer_decay == 1 && !options.head_lr) {
    return {};
  }
  const ParameterDepths depths(model.named_parameters().keys());
  const double head = options.head_lr ? *options.head_lr / options.lr : 1.0;
  return [=](const std::string& parameter) {
    const auto below_head = static_cast<double>(depths.layers() + 1 - depths.of(parameter));
    return depths.is_head(parameter) ? head : std::pow(options.layer_decay, below_head);
  };
}

}  // namespace weft::train
