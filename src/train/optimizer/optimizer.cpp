#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

constexpr double kMinParameterScale = 1e-3;  // epsilon_2 of arXiv:1804.04235

at::Tensor segment_view(const at::Tensor& flat, const ParameterSegment& segment) {
  return flat.defined() ? flat.narrow(0, segment.begin, segment.count) : flat;
}

class Adamw : public Optimizer {
 public:
  Adamw(const OptimizerOptions& options, const FlatParameters& flat_parameters)
      : Optimizer(options, flat_parameters),
        first_(flat_parameters.zeros_like_trained()),
        second_(flat_parameters.zeros_like_trained()) {}

  std::vector<std::pair<std::string, at::Tensor>> moments() const override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update_segment(const ParameterSegment& segment,
                      kernels::UpdateSlice slice,
                      const UpdateSettings& settings) override {
    slice.first = segment_view(first_, segment);
    slice.second = segment_view(second_, segment);
    kernels::adamw(slice,
                   {.lr = settings.lr,
                    .beta1 = options_.betas[0],
                    .beta2 = options_.betas[1],
                    .epsilon = options_.epsilon,
                    .weight_decay = settings.weight_decay,
                    .step = updates_},
                   settings.gradient_scale);
  }

  at::Tensor first_, second_;
};

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const FlatParameters& flat_parameters)
      : Optimizer(options, flat_parameters), momentum_(flat_parameters.zeros_like_trained()) {}

  std::vector<std::pair<std::string, at::Tensor>> moments() const override {
    return {{"momentum", momentum_}};
  }

 private:
  void update_segment(const ParameterSegment& segment,
                      kernels::UpdateSlice slice,
                      const UpdateSettings& settings) override {
    slice.first = segment_view(momentum_, segment);
    kernels::sgd(slice,
                 {.lr = settings.lr,
                  .momentum = options_.momentum,
                  .weight_decay = settings.weight_decay,
                  .is_first_step = updates_ == 1},
                 settings.gradient_scale);
  }

  at::Tensor momentum_;
};

template <class Type>
std::unique_ptr<Optimizer> construct_optimizer(const OptimizerOptions& options,
                                               const FlatParameters& flat_parameters) {
  return std::make_unique<Type>(options, flat_parameters);
}

using OptimizerMaker = std::unique_ptr<Optimizer> (*)(const OptimizerOptions&,
                                                      const FlatParameters&);
const std::vector<std::pair<OptimizerType, OptimizerMaker>> kOptimizerTable = {
    {OptimizerType::kAdamw, construct_optimizer<Adamw>},
    {OptimizerType::kSgd, construct_optimizer<Sgd>},
};

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const FlatParameters& flat_parameters)
    : options_(options),
      flat_parameters_(flat_parameters),
      nonzero_moment_blocks_(kernels::block_count(flat_parameters.trained_size())) {}

void Optimizer::resume(int64_t updates) {
  updates_ = updates;
  std::fill(nonzero_moment_blocks_.begin(), nonzero_moment_blocks_.end(), uint8_t{0});
  for (const auto& [name, flat] : moments()) {
    const auto nonzero_blocks = kernels::squared_norm(flat).nonzero_blocks;
    for (std::size_t block = 0; block < nonzero_blocks.size(); ++block) {
      nonzero_moment_blocks_[block] |= nonzero_blocks[block];
    }
  }
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
    const int64_t block = segment.begin / kernels::kUpdateBlock;
    update_segment(
        segment,
        {.master = segment_view(flat_parameters_.master(), segment),
         .compute = segment_view(flat_parameters_.compute(), segment),
         .gradient = segment_view(gradient, segment),
         .first = {},
         .second = {},
         .nonzero_gradient = nonzero_blocks.empty() ? nullptr : nonzero_blocks.data() + block,
         .nonzero_moments = nonzero_moment_blocks_.data() + block},
        {.lr = lr * segment.lr_scale * scales[i],
         .weight_decay = segment.decays ? options_.weight_decay : 0,
         .gradient_scale = gradient_scale});
  }
}

// Learning rate scale of every segment.
std::vector<double> Optimizer::parameter_scales() const {
  const auto& segments = flat_parameters_.segments();
  if (!options_.scale_parameter) {
    return std::vector<double>(segments.size(), 1.0);
  }
  std::vector<at::Tensor> weights;
  for (const auto& segment : segments) {
    weights.push_back(segment_view(flat_parameters_.master(), segment));
  }
  auto scales = kernels::squared_norms(weights);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = std::max(kMinParameterScale,
                         std::sqrt(scales[i] / static_cast<double>(segments[i].parameters)));
  }
  return scales;
}

Segmentation segmentation_of(const OptimizerOptions& options) {
  return options.scale_parameter ? Segmentation::kPerParameter : Segmentation::kPerParameterGroup;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const FlatParameters& flat_parameters) {
  for (const auto& [type, maker] : kOptimizerTable) {
    if (type == options.type) {
      return maker(options, flat_parameters);
    }
  }
  throw std::logic_error("optimizer without a row in the table");
}

}  // namespace weft::train
