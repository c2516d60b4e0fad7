#include "train/optimizer.h"

#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

class Adamw : public Optimizer {
 public:
  Adamw(const OptimizerOptions& options, const Arena& arena)
      : Optimizer(options, arena), first_(arena.make_flat()), second_(arena.make_flat()) {}

  std::vector<std::pair<std::string, at::Tensor>> moments() const override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update_segment(const ArenaSegment& segment,
                      const at::Tensor& gradient,
                      const Rule& rule) override {
    kernels::adamw(cut(segment, gradient, first_, second_),
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
                      const at::Tensor& gradient,
                      const Rule& rule) override {
    kernels::sgd(cut(segment, gradient, momentum_, {}),
                 {.lr = rule.lr,
                  .momentum = options_.momentum,
                  .weight_decay = rule.weight_decay,
                  .is_first_step = updates_ == 1},
                 rule.gradient_scale);
  }

  at::Tensor momentum_;
};

template <class Type>
std::unique_ptr<Optimizer> make(const OptimizerOptions& options, const Arena& arena) {
  return std::make_unique<Type>(options, arena);
}

using Maker = std::unique_ptr<Optimizer> (*)(const OptimizerOptions&, const Arena&);
const std::vector<std::pair<OptimizerType, Maker>> kTable = {
    {OptimizerType::kAdamw, make<Adamw>},
    {OptimizerType::kSgd, make<Sgd>},
};

}  // namespace

void Optimizer::update(const at::Tensor& gradient, double lr, double gradient_scale) {
  const at::NoGradGuard no_grad;
  ++updates_;
  for (const auto& segment : arena_.segments()) {
    update_segment(segment, gradient,
                   {.lr = lr * segment.rate,
                    .weight_decay = segment.decays ? options_.weight_decay : 0,
                    .gradient_scale = gradient_scale});
  }
}

kernels::UpdateSlice Optimizer::cut(const ArenaSegment& segment,
                                    const at::Tensor& gradient,
                                    const at::Tensor& first,
                                    const at::Tensor& second) const {
  const auto part = [&](const at::Tensor& flat) {
    return flat.defined() ? flat.narrow(0, segment.begin, segment.count) : flat;
  };
  return {.master = part(arena_.master()),
          .compute = part(arena_.compute()),
          .gradient = part(gradient),
          .first = part(first),
          .second = part(second)};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Arena& arena) {
  for (const auto& [type, maker] : kTable) {
    if (type == options.type) {
      return maker(options, arena);
    }
  }
  throw std::logic_error("optimizer without a row in the table");
}

}  // namespace weft::train
