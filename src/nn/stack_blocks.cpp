#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/string_util.h"
#include "config/section.h"
#include "nn/attention/attention_parts.h"
#include "nn/stack.h"

namespace weft::nn {

namespace {

BlockOptions block_of_layer(const StackOptions& options, std::size_t layer) {
  auto block = options.layers[layer];
  const auto last = options.layers.size() - 1;
  const auto rate = options.stochastic_depth.drop_path_rate;
  block.drop_path_rate = last == 0 || options.stochastic_depth.is_constant
                             ? rate
                             : rate * (static_cast<double>(layer) / static_cast<double>(last));
  block.layer = options.first_layer + static_cast<int64_t>(layer);
  block.attention.place = {.index = static_cast<int64_t>(layer),
                           .layers = std::ssize(options.layers)};
  const auto rotary = rotary_of(options.positions, block.attention.is_local);
  block.attention.rotary = rotary.theta > 0 ? rotary : block.attention.rotary;
  block.attention.has_distance_bias |= std::ranges::any_of(
      options.positions, [](const auto& position) { return position->bias != nullptr; });
  int64_t terms = 1;
  for (const auto& position : options.positions) {
    terms += position->further_score_terms;
    if (position->distances != nullptr) {
      TORCH_CHECK(!block.attention.distance_scores, "a stack has only one table of distances");
      block.attention.distance_scores = position->distance_scores;
    }
    if (position->modifier) {
      block.attention.position_modifiers.push_back(position->modifier);
    }
  }
  if (terms > 1) {
    block.attention.scale = score_scale(block.attention) / std::sqrt(static_cast<double>(terms));
  }
  return block;
}

/// For each layer, which of those with parameters of their own it shares them with.
std::vector<std::size_t> parameter_groups(const StackOptions& options) {
  const auto layers = options.layers.size();
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < options.repeats.size(); ++i) {
    result.insert(result.end(), static_cast<std::size_t>(options.repeats[i]), i);
  }
  if (!result.empty()) {
    TORCH_CHECK(result.size() == layers, result.size(), " repeated layers of ", layers);
    return result;
  }
  const auto groups =
      options.layer_groups > 0 ? static_cast<std::size_t>(options.layer_groups) : layers;
  TORCH_CHECK(groups <= layers, groups, " groups of ", layers, " layers");
  for (std::size_t layer = 0; layer < layers; ++layer) {
    result.push_back(options.cycles_layers ? layer % groups : layer * groups / layers);
  }
  return result;
}

}  // namespace

StackBlocks make_blocks(const StackOptions& options) {
  StackBlocks made;
  const auto groups = parameter_groups(options);
  std::vector<SharedSublayers> firsts;  // the first layer of each group
  std::vector<int64_t> input_widths;    // of it
  int64_t width = 0;                    // of the states before the layer
  for (std::size_t layer = 0; layer < groups.size(); ++layer) {
    auto own = block_of_layer(options, layer);
    own.input_dim = layer > 0 ? width : own.dim();
    const auto group = groups[layer];
    const bool is_first = group == firsts.size();
    if (!is_first && input_widths[group] != own.input_dim) {
      throw config::Error(str_cat("model.sharing: layer ", layer, " would read ", own.input_dim,
                                  " features with the parameters of a layer that reads ",
                                  input_widths[group]));
    }
    const bool has_own_block = is_first || !options.shared_sublayers.empty();
    if (has_own_block) {
      own.shared = is_first ? SharedSublayers() : firsts[group];
      made.distinct.push_back(make_block(own));
    }
    const auto owner = has_own_block ? made.distinct.size() - 1 : group;
    made.owners.push_back(owner);
    if (is_first) {
      input_widths.push_back(own.input_dim);
      firsts.push_back(
          {.block = made.distinct[owner], .layer = own.layer, .kinds = options.shared_sublayers});
    }
    width = made.distinct[owner]->output_dim();
    made.has_one_width &= width == own.dim();
    if (layer + 1 == groups.size() && width != own.dim()) {
      throw config::Error(str_cat("model.block: the last layer ends with ", width,
                                  " features, must be dim ", own.dim()));
    }
  }
  return made;
}

}  // namespace weft::nn
