#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

constexpr double kLeastScale = 1e-3;  // epsilon_2 of arXiv:1804.04235

at::Tensor part(const at::Tensor& flat, const ArenaSegment& segment) {
  return flat.defined() ? flat.narrow(0, segment.begin, segment.count) : flat;
}

class Adamw : public Optimizer {
 public:
  Adamw(const OptimizerOptions& options, const Arena& arena)
      : Optimizer(options, arena), first_(arena.make_flat()), second_(arena.make_flat()) {}

  std::vector<std::pair<std::string, at::Tensor>> moments() const override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update_segment(const ArenaSegment& segment,
                      kernels::UpdateSlice slice,
                      const Rule& rule) override {
    slice.first = part(first_, segment);
    slice.second = part(second_, segment);
    kernels::adamw(slice,
                   {.lr = rule.lr,
                    .beta1 = options_.betas[0],
                    .beta2 = options_.betas[1],
                    .epsilon = options_.epsilon,
                    .weight_decay = rule.weight_decay,
                    .step = updates_},
                   rule.gradient_scale);
  }

  at::Tensor first_, second_;
};

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const Arena& arena)
      : Optimizer(options, arena), momentum_(arena.make_flat()) {}

  std::vector<std::pair<std::string, at::Tensor>> moments() const override {
    return {{"momentum", momentum_}};
  }

 private:
  void update_segment(const ArenaSegment& segment,
                      kernels::UpdateSlice slice,
                      const Rule& rule) override {
    slice.first = part(momentum_, segment);
    kernels::sgd(slice,
                 {.lr = rule.lr,
                  .momentum = options_.momentum,
                  .weight_decay = rule.weight_decay,
                  .is_first_step = updates_ == 1},
                 rule.gradient_scale);
  }

  at::Tensor momentum_;
};

template <class Type>
std::unique_ptr<Optimizer> construct_optimizer(const OptimizerOptions& options,
                                               const Arena& arena) {
  return std::make_unique<Type>(options, arena);
}

using OptimizerMaker = std::unique_ptr<Optimizer> (*)(const OptimizerOptions&, const Arena&);
const std::vector<std::pair<OptimizerType, OptimizerMaker>> kOptimizerTable = {
    {OptimizerType::kAdamw, construct_optimizer<Adamw>},
    {OptimizerType::kSgd, construct_optimizer<Sgd>},
};

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const Arena& arena)
    : options_(options), arena_(arena), live_moments_(kernels::blocks_of(arena.trained_size())) {}

void Optimizer::resume(int64_t updates) {
  updates_ = updates;
  std::fill(live_moments_.begin(), live_moments_.end(), uint8_t{0});
  for (const auto& [name, flat] : moments()) {
    const auto live = kernels::scan(flat).live;
    for (std::size_t block = 0; block < live.size(); ++block) {
      live_moments_[block] |= live[block];
    }
  }
}

void Optimizer::update(const at::Tensor& gradient,
                       double lr,
                       double gradient_scale,
                       const kernels::BlockMarks& live) {
  const at::NoGradGuard no_grad;
  ++updates_;
  const auto scales = this->scales();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto& segment = arena_.segments()[i];
    const int64_t block = segment.begin / kernels::kUpdateBlock;
    update_segment(segment,
                   {.master = part(arena_.master(), segment),
                    .compute = part(arena_.compute(), segment),
                    .gradient = part(gradient, segment),
                    .first = {},
                    .second = {},
                    .live_gradient = live.empty() ? nullptr : live.data() + block,
                    .live_moments = live_moments_.data() + block},
                   {.lr = lr * segment.rate * scales[i],
                    .weight_decay = segment.decays ? options_.weight_decay : 0,
                    .gradient_scale = gradient_scale});
  }
}

// Of every segment.
std::vector<double> Optimizer::scales() const {
  const auto& segments = arena_.segments();
  if (!options_.scales_by_parameter) {
    return std::vector<double>(segments.size(), 1.0);
  }
  std::vector<at::Tensor> weights;
  for (const auto& segment : segments) {
    weights.push_back(part(arena_.master(), segment));
  }
  auto scales = kernels::sums_of_squares(weights);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] =
        std::max(kLeastScale, std::sqrt(scales[i] / static_cast<double>(segments[i].parameters)));
  }
  return scales;
}

Segments segments_of(const OptimizerOptions& options) {
  return options.scales_by_parameter ? Segments::kOfOneParameter : Segments::kOfEqualRules;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Arena& arena) {
  for (const auto& [type, maker] : kOptimizerTable) {
    if (type == options.type) {
      return maker(options, arena);
    }
  }
  throw std::logic_error("optimizer without a row in the table");
}

}  // namespace weft::train
