#include "train/optimizer/layer_wise_lr_decay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "models/generator.h"

namespace weft::train {

namespace {

constexpr std::string_view kBlocks = "layers.";

// i of `layers.i.rest`; -1 where the parameter belongs to no block.
int64_t block_of(const std::string& parameter) {
  if (!parameter.starts_with(kBlocks)) {
    return -1;
  }
  int64_t block = -1;
  std::from_chars(parameter.data() + kBlocks.size(), parameter.data() + parameter.size(), block);
  return block;
}

}  // namespace

int64_t count_layers(const std::vector<std::string>& parameters) {
  int64_t layers = 0;
  for (const auto& parameter : parameters) {
    layers = std::max(layers, block_of(parameter) + 1);
  }
  return layers;
}

int64_t parameter_depth(const std::string& parameter, int64_t layers) {
  if (parameter.starts_with(models::kGeneratorPrefix)) {  // same depth as in the main model
    const auto own = parameter.substr(models::kGeneratorPrefix.size());
    const auto depth = parameter_depth(own, layers);
    return block_of(own) < 0 ? depth : std::min(depth, layers);
  }
  if (parameter.starts_with("embeddings.") || parameter.starts_with("projection.")) {
    return 0;
  }
  const int64_t block = block_of(parameter);
  if (block >= 0) {
    return block + 1;
  }
  if (parameter.starts_with("layers.input_convolution.")) {  // beside the first block
    return 1;
  }
  return parameter.starts_with(kBlocks) ? layers : layers + 1;
}

LrScaleFunction layer_wise_lr_scales(const OptimizerOptions& options,
                                     const torch::nn::Module& model) {
  if (options.layer_decay == 1 && !options.head_lr) {
    return {};
  }
  const int64_t layers = count_layers(model.named_parameters().keys());
  const double head = options.head_lr ? *options.head_lr / options.lr : 1.0;
  return [=](const std::string& parameter) {
    const int64_t depth = parameter_depth(parameter, layers);
    return depth > layers ? head
                          : std::pow(options.layer_decay, static_cast<double>(layers + 1 - depth));
  };
}

}  // namespace weft::train
