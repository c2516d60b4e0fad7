#include "nn/attention/delight.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "nn/attention/self_attention.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

namespace {

/// Item `index` of `count` numbers from `first` to `last` at equal distances.
double evenly_spaced(double first, double last, int64_t index, int64_t count) {
  if (index == 0 || count == 1) {
    return first;
  }
  if (index + 1 == count) {
    return last;
  }
  const double step = (last - first) / static_cast<double>(count - 1);
  return first + static_cast<double>(index) * step;
}

int64_t padded_to_multiple(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Layers of the first half, with the one in the middle.
int64_t widening_layers(int64_t depth) { return (depth + 1) / 2; }

/// Groups of a layer so many steps away from the nearer end of a unit.
int64_t dextra_groups_at(int64_t step, int64_t most) {
  return std::min(int64_t{1} << std::min<int64_t>(step + 1, 62), most);
}

}  // namespace

DextraSizes dextra_sizes(const DextraOptions& options) {
  const auto depth = options.depth;
  const auto middle = widening_layers(depth);
  const auto widest = static_cast<double>(options.dim) * options.width;
  DextraSizes sizes;
  std::vector<int64_t> exact;  // before rounding up
  for (int64_t i = 0; i < depth; ++i) {
    const auto step = std::min(i, depth - 1 - i);
    sizes.groups.push_back(dextra_groups_at(step, options.groups));
    exact.push_back(static_cast<int64_t>(
        std::floor(evenly_spaced(static_cast<double>(options.output), widest, step, middle))));
  }
  sizes.inputs.push_back(options.output);
  for (std::size_t i = 0; i + 1 < exact.size(); ++i) {
    const auto multiple = std::max({sizes.groups[i], sizes.groups[i + 1], int64_t{8}});
    sizes.outputs.push_back(padded_to_multiple(exact[i], multiple));
    sizes.inputs.push_back(sizes.outputs.back() + options.output);
  }
  sizes.outputs.push_back(options.output);
  return sizes;
}

DextraOptions scaled_dextra(DextraOptions options, const DextraScaling& scaling, StackPlace place) {
  const auto first = static_cast<double>(scaling.min_depth);
  const auto last = static_cast<double>(scaling.max_depth);
  options.depth =
      static_cast<int64_t>(std::floor(evenly_spaced(first, last, place.index, place.layers)));
  const auto width =
      evenly_spaced(scaling.width, scaling.width + (last / first - 1), place.index, place.layers);
  constexpr double kDigits = 1000;  // as in the authors' code
  options.width = std::round(width * kDigits) / kDigits;
  return options;
}

GroupLinearImpl::GroupLinearImpl(const LinearOptions& options, int64_t groups, bool shuffles)
    : shuffles_(shuffles) {
  TORCH_CHECK(options.inputs % groups == 0 && options.outputs % groups == 0, groups,
              " groups do not divide ", options.inputs, " inputs and ", options.outputs,
              " outputs");
  for (int64_t group = 0; group < groups; ++group) {
    groups_.emplace_back(
        register_module(str_cat("group_", group),
                        Linear(LinearOptions{options.inputs / groups, options.outputs / groups,
                                             options.has_bias})));
  }
}

at::Tensor GroupLinearImpl::forward(const std::vector<at::Tensor>& inputs,
                                    const ForwardContext& context) {
  const auto groups = std::ssize(groups_);
  std::vector<at::Tensor> outputs;
  for (int64_t group = 0; group < groups; ++group) {
    std::vector<at::Tensor> shares;
    for (const auto& input : inputs) {
      const auto width = input.size(1) / groups;
      shares.push_back(input.narrow(1, group * width, width));
    }
    const auto own = shares.size() == 1 ? shares.front().contiguous() : at::cat(shares, 1);
    outputs.push_back(groups_[static_cast<std::size_t>(group)]->forward(own, context));
  }
  return groups == 1 ? outputs.front() : at::stack(outputs, shuffles_ ? 2 : 1).flatten(1);
}

DextraUnitImpl::DextraUnitImpl(const DextraOptions& options) : options_(options) {
  const auto p = options.output;
  const auto sizes = dextra_sizes(options);
  add_layer("input", {options.dim, p, options.has_bias}, 1);
  for (std::size_t i = 0; i < sizes.inputs.size(); ++i) {
    add_layer(str_cat("group_linear_", i), {sizes.inputs[i], sizes.outputs[i], options.has_bias},
              sizes.groups[i]);
  }
  add_layer("output", {2 * p, p, options.has_bias}, 1);
}

void DextraUnitImpl::add_layer(const std::string& name,
                               const LinearOptions& options,
                               int64_t groups) {
  Layer layer;
  layer.norm_width = options.outputs / groups;
  layer.linear = register_module(name, GroupLinear(options, groups, options_.shuffles));
  layer.norm = register_module(str_cat(name, "_norm"),
                               make_layer_norm({.dim = layer.norm_width, .epsilon = 1e-5}));
  layers_.push_back(std::move(layer));
}

at::Tensor DextraUnitImpl::run(std::size_t index,
                               const std::vector<at::Tensor>& inputs,
                               const ForwardContext& context) {
  auto& layer = layers_[index];
  const auto y = layer.linear->forward(inputs, context);
  const auto normed = layer.norm->forward(y.view({-1, layer.norm_width})).view_as(y);
  const auto own_sites = options_.layer + dextra_sites(static_cast<int64_t>(index));
  return kernels::dropout(kernels::activate(normed, kernels::Activation::kSilu),
                          context.rate(options_.dropout),
                          context.rng_key(site_id(own_sites, BlockDropoutSite::kAttentionOutput)));
}

at::Tensor DextraUnitImpl::forward(const at::Tensor& x, const ForwardContext& context) {
  const auto projected = run(0, {x}, context);  // (N, p)
  auto hidden = run(1, {projected}, context);
  for (std::size_t i = 2; i < layers_.size(); ++i) {
    hidden = run(i, {projected, hidden}, context);
  }
  return hidden;  // (N, p)
}

namespace {

enum class DextraScalingKind { kBlock, kUniform };

/// p: what the heads have together, or half of D if that is D.
int64_t dextra_output_of(const AttentionOptions& options) {
  const auto of_heads = options.heads * head_dim(options);
  return of_heads == options.dim ? options.dim / 2 : of_heads;
}

/// The same attention from p features to D. What depends on the width of a head keeps its ratio to
/// it.
AttentionOptions after_unit(AttentionOptions options) {
  const auto width = dextra_output_of(options) / options.heads;
  const auto ratio = static_cast<double>(head_dim(options)) / static_cast<double>(width);
  options.output_dim = options.dim;
  options.dim = width * options.heads;
  options.scale *= std::sqrt(ratio);
  options.rotary.width = std::lround(static_cast<double>(options.rotary.width) / ratio);
  options.head_dim = width;
  options.distance_scores.reset();  // their table is as wide as the model
  return options;
}

/// A DExTra unit, and softmax attention of its width. With one head, and a feed-forward of a
/// quarter of D, a layer is the block of DeLighT (arXiv:2008.00623, figure 1).
class DelightAttention : public Attention {
 public:
  DelightAttention(const AttentionOptions& options, const DextraOptions& unit)
      : wants_distances_(options.distance_scores.has_value()) {
    unit_ = register_module("dextra", DextraUnit(unit));
    attention_ = register_module("attention", make_full_attention(after_unit(options)));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    return attention_->forward(unit_->forward(x, context), context);
  }
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    return attention_->forward_selected(unit_->forward(x, context), context, selection);
  }
  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    return attention_->weights(unit_->forward(x, context), context);
  }
  bool adds_positions() const override { return !wants_distances_ && attention_->adds_positions(); }

 private:
  bool wants_distances_;
  DextraUnit unit_{nullptr};
  std::shared_ptr<Attention> attention_;
};

void check_delight(const config::Section& section,
                   const AttentionOptions& options,
                   const DextraOptions& unit) {
  const auto features =
      str_cat("the ", unit.output, " features of the DExTra unit of layer ", options.place.index);
  const auto most = dextra_groups_at(widening_layers(unit.depth) - 1, unit.groups);
  if (unit.output % most != 0) {
    section.fail("groups",
                 str_cat("found ", unit.groups, ": ", features, " cannot be divided by ", most));
  }
  const auto width = unit.output / options.heads;
  if (unit.output != width * options.heads || width % 2 != 0) {
    section.fail("type", str_cat("found delight: ", features, " cannot be divided among ",
                                 options.heads, " heads of even width"));
  }
  const auto rotated = after_unit(options).rotary;
  if (rotated.theta > 0 && (rotated.width % 2 != 0 || rotated.width > width)) {
    section.fail("type", str_cat("found delight: rotary positions would rotate ", rotated.width,
                                 " of the ", width,
                                 " features of its heads, must be an even "
                                 "number"));
  }
}

void read_dextra_scaling(config::Section& section, DextraScaling& scaling) {
  auto kind = DextraScalingKind::kBlock;
  section.read_choice(
      "scaling", kind,
      {{"block", DextraScalingKind::kBlock}, {"uniform", DextraScalingKind::kUniform}},
      {.help = "block: later layers have deeper and wider units. uniform: all "
               "units are alike."});
  const bool is_uniform = kind == DextraScalingKind::kUniform;
  std::vector<int64_t> depths{scaling.min_depth,
                              is_uniform ? scaling.min_depth : scaling.max_depth};
  section.read("depth", depths,
               {.help = "Group linear layers of the first and of the last layer's unit. With "
                        "scaling: uniform both numbers are equal.",
                .unit = "layers",
                .range = config::between(2, 64)});
  if (depths.size() != 2) {
    section.fail("depth", str_cat("found ", depths.size(), " numbers, expected two, as in [4, 8]"));
  }
  if (depths[0] > depths[1] || (is_uniform && depths[0] < depths[1])) {
    section.fail("depth", str_cat("found ", depths[0], " and ", depths[1], ", the second one must ",
                                  is_uniform ? "be equal to the first one with scaling: uniform"
                                             : "not be smaller than the first one"));
  }
  scaling.min_depth = depths[0];
  scaling.max_depth = depths[1];
  section.read("width", scaling.width,
               {.help = "Features of the widest group linear layer of the first layer's unit, "
                        "divided by dim.",
                .range = config::between(1, 64)});
}

}  // namespace

AttentionMaker read_delight_attention(config::Section& section) {
  DextraScaling scaling;
  DextraOptions keys;
  read_dextra_scaling(section, scaling);
  section.read("groups", keys.groups,
               {.help = "Most groups of a group linear layer; a power of two.",
                .range = config::between(1, 1024)});
  if ((keys.groups & (keys.groups - 1)) != 0) {
    section.fail("groups", str_cat("found ", keys.groups, ", allowed are powers of two"));
  }
  section.read("shuffle", keys.shuffles,
               {.help = "Whether group linear layers shuffle their features, so that the next "
                        "one mixes the groups."});
  section.read("dextra_dropout", keys.dropout,
               {.help = "Dropout probability of the features of each layer of a unit.",
                .range = config::half_open(0, 1)});
  return [keys, scaling, section](const AttentionOptions& options) {
    auto unit = scaled_dextra(keys, scaling, options.place);
    unit.dim = options.dim;
    unit.output = dextra_output_of(options);
    unit.has_bias = options.has_bias;
    unit.layer = options.layer;
    check_delight(section, options, unit);
    return std::make_shared<DelightAttention>(options, unit);
  };
}

}  // namespace weft::nn
