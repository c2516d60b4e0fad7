#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/string_util.h"
#include "train/distributed/shard_collector.h"

namespace weft::train {

namespace {

constexpr double kMinParameterScale = 1e-3;  // epsilon_2 of arXiv:1804.04235

at::Tensor view_of(const at::Tensor& flat, const FlatRange& range) {
  return flat.defined() ? flat.narrow(0, range.begin, range.count) : flat;
}

/// Sum of the squared master weights of each of the segments.
std::vector<double> squares_of_segments(const FlatParameters& flat_parameters,
                                        ProcessGroup& group,
                                        const std::vector<std::size_t>& segments) {
  if (!flat_parameters.layout().is_sharded()) {
    std::vector<at::Tensor> weights;
    for (const auto index : segments) {
      const auto& segment = flat_parameters.segments()[index];
      weights.push_back(
          view_of(flat_parameters.master(), {.begin = segment.begin, .count = segment.count}));
    }
    return kernels::squared_norms(weights);
  }
  const auto sums = gather_blocks(flat_parameters.layout(), group,
                                  kernels::sums_of_squares(flat_parameters.trained_master()).sums);
  std::vector<double> squares;
  for (const auto index : segments) {
    const auto& segment = flat_parameters.segments()[index];
    const auto first = sums.begin() + segment.begin / kernels::kSumBlock;
    const auto blocks = (segment.count + kernels::kSumBlock - 1) / kernels::kSumBlock;
    squares.push_back(std::accumulate(first, first + blocks, 0.0));
  }
  return squares;
}

}  // namespace

at::Tensor SegmentUpdate::gradient(int64_t begin, int64_t count) const {
  return slice.gradient.narrow(0, begin, count).to(at::kFloat) * gradient_scale;
}

Optimizer::Optimizer(const OptimizerOptions& options,
                     const FlatParameters& flat_parameters,
                     ProcessGroup& group)
    : flat_parameters_(flat_parameters),
      group_(group),
      nonzero_moment_blocks_(kernels::block_count(flat_parameters.trained_master().size(0))) {
  for (const auto& name : optimizer_state_names(options)) {
    moments_.emplace_back(name, flat_parameters.zeros_like_trained());
  }
  rules_.push_back(make_rule(options));
  for (const auto& other : options.groups) {
    rules_.push_back(make_rule(other));
  }
}

Optimizer::Rule Optimizer::make_rule(const OptimizerOptions& options) const {
  Rule rule{.options = options, .definition = optimizer_registry().at(options.type), .state = {}};
  if (flat_parameters_.layout().is_sharded() && !rule.definition.is_elementwise) {
    throw UserError(str_cat("train.ranks.shard: must be none, as the optimizer ", options.type,
                            " updates whole parameters"));
  }
  if (!rule.options.own.has_value()) {
    rule.options.own = rule.definition.defaults;
  }
  for (const auto& name : rule.definition.state) {
    rule.state.push_back(std::find_if(moments_.begin(), moments_.end(), [&](const auto& moment) {
                           return moment.first == name;
                         })->second);
  }
  return rule;
}

void Optimizer::resume(int64_t updates) {
  updates_ = updates;
  std::fill(nonzero_moment_blocks_.begin(), nonzero_moment_blocks_.end(), uint8_t{0});
  for (const auto& [name, flat] : moments_) {
    const auto nonzero_blocks = kernels::squared_norm(flat).nonzero_blocks;
    for (std::size_t block = 0; block < nonzero_blocks.size(); ++block) {
      nonzero_moment_blocks_[block] |= nonzero_blocks[block];
    }
  }
}

double Optimizer::weight_decay(const ParameterSegment& segment) const {
  return rules_.at(segment.settings.group).options.weight_decay;
}

void Optimizer::update(const at::Tensor& gradient,
                       double lr,
                       double gradient_scale,
                       const kernels::NonzeroBlocks& nonzero_blocks) {
  const at::NoGradGuard no_grad;
  ++updates_;
  const auto scales = parameter_scales();
  for (const auto& part : flat_parameters_.slices()) {
    const auto& segment = flat_parameters_.segments()[part.segment];
    const auto& rule = rules_.at(segment.settings.group);
    const int64_t block = part.own.begin / kernels::kUpdateBlock;
    SegmentUpdate update{
        .segment = segment,
        .slice = {.master = view_of(flat_parameters_.master(), part.own),
                  .compute = view_of(flat_parameters_.compute(), part.own),
                  .gradient = view_of(gradient, part.own),
                  .first = {},
                  .second = {},
                  .nonzero_gradient =
                      nonzero_blocks.empty() ? nullptr : nonzero_blocks.data() + block,
                  .nonzero_moments = nonzero_moment_blocks_.data() + block},
        .state = {},
        .lr = lr * segment.settings.lr_scale * scales[part.segment],
        .weight_decay = segment.settings.decays ? rule.options.weight_decay : 0,
        .gradient_scale = gradient_scale,
        .step = updates_};
    for (const auto& flat : rule.state) {
      update.state.push_back(view_of(flat, part.own));
    }
    rule.definition.update(rule.options.own, update);
    if (!rule.definition.is_fused) {
      kernels::finish_update(update.slice);
    }
  }
}

// Learning rate scale of every segment.
std::vector<double> Optimizer::parameter_scales() const {
  const auto& segments = flat_parameters_.segments();
  std::vector<double> scales(segments.size(), 1.0);
  std::vector<std::size_t> scaled;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (rules_.at(segments[i].settings.group).options.scale_parameter) {
      scaled.push_back(i);
    }
  }
  if (scaled.empty()) {
    return scales;
  }
  const auto squares = squares_of_segments(flat_parameters_, group_, scaled);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const auto parameters = static_cast<double>(segments[scaled[i]].parameters);
    scales[scaled[i]] = std::max(kMinParameterScale, std::sqrt(squares[i] / parameters));
  }
  return scales;
}

std::vector<std::string> optimizer_state_names(const OptimizerOptions& options) {
  std::vector<std::string> names = optimizer_registry().at(options.type).state;
  for (const auto& group : options.groups) {
    for (const auto& name : optimizer_registry().at(group.type).state) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace weft::train
