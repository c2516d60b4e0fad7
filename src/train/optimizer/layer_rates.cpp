#include "train/optimizer/layer_rates.h"

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

int64_t layers_in(const std::vector<std::string>& parameters) {
  int64_t layers = 0;
  for (const auto& parameter : parameters) {
    layers = std::max(layers, block_of(parameter) + 1);
  }
  return layers;
}

int64_t depth_of(const std::string& parameter, int64_t layers) {
  if (parameter.starts_with(models::kOfGenerator)) {  // as deep as in the model that carries it
    const auto own = parameter.substr(models::kOfGenerator.size());
    const auto depth = depth_of(own, layers);
    return block_of(own) < 0 ? depth : std::min(depth, layers);
  }
  if (parameter.starts_with("embeddings.") || parameter.starts_with("projection.")) {
    return 0;
  }
  const int64_t block = block_of(parameter);
  if (block >= 0) {
    return block + 1;
  }
  return parameter.starts_with(kBlocks) ? layers : layers + 1;
}

RateOf layer_rates(const OptimizerOptions& options, const nn::Module& model) {
  if (options.layer_decay == 1 && !options.head_lr) {
    return {};
  }
  const int64_t layers = layers_in(model.named_parameters().keys());
  const double head = options.head_lr ? *options.head_lr / options.lr : 1.0;
  return [=](const std::string& parameter) {
    const int64_t depth = depth_of(parameter, layers);
    return depth > layers ? head
                          : std::pow(options.layer_decay, static_cast<double>(layers + 1 - depth));
  };
}

}  // namespace weft::train
