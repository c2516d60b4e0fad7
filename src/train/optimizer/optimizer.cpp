#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

constexpr double kMinParameterScale = 1e-3;  // epsilon_2 of arXiv:1804.04235

at::Tensor segment_view(const at::Tensor& flat, const ParameterSegment& segment) {
  return flat.defined() ? flat.narrow(0, segment.begin, segment.count) : flat;
}

}  // namespace

at::Tensor SegmentUpdate::gradient(int64_t begin, int64_t count) const {
  return slice.gradient.narrow(0, begin, count).to(at::kFloat) * gradient_scale;
}

Optimizer::Optimizer(const OptimizerOptions& options, const FlatParameters& flat_parameters)
    : flat_parameters_(flat_parameters),
      nonzero_moment_blocks_(kernels::block_count(flat_parameters.trained_size())) {
  for (const auto& name : optimizer_state_names(options)) {
    moments_.emplace_back(name, flat_parameters.zeros_like_trained());
  }
  rules_.push_back(make_rule(options));
  for (const auto& group : options.groups) {
    rules_.push_back(make_rule(group));
  }
}

Optimizer::Rule Optimizer::make_rule(const OptimizerOptions& options) const {
  Rule rule{.options = options, .definition = optimizer_registry().at(options.type), .state = {}};
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
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto& segment = flat_parameters_.segments()[i];
    const auto& rule = rules_.at(segment.settings.group);
    const int64_t block = segment.begin / kernels::kUpdateBlock;
    SegmentUpdate update{
        .segment = segment,
        .slice = {.master = segment_view(flat_parameters_.master(), segment),
                  .compute = segment_view(flat_parameters_.compute(), segment),
                  .gradient = segment_view(gradient, segment),
                  .first = {},
                  .second = {},
                  .nonzero_gradient =
                      nonzero_blocks.empty() ? nullptr : nonzero_blocks.data() + block,
                  .nonzero_moments = nonzero_moment_blocks_.data() + block},
        .state = {},
        .lr = lr * segment.settings.lr_scale * scales[i],
        .weight_decay = segment.settings.decays ? rule.options.weight_decay : 0,
        .gradient_scale = gradient_scale,
        .step = updates_};
    for (const auto& flat : rule.state) {
      update.state.push_back(segment_view(flat, segment));
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
  std::vector<at::Tensor> weights;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (rules_.at(segments[i].settings.group).options.scale_parameter) {
      scaled.push_back(i);
      weights.push_back(segment_view(flat_parameters_.master(), segments[i]));
    }
  }
  const auto squares = kernels::squared_norms(weights);
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
