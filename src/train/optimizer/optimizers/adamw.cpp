#include "train/optimizer/optimizer_registry.h"

namespace weft::train {

namespace {

struct AdamwOptions {
  std::array<double, 2> betas = {0.9, 0.999};
  double epsilon = 1e-8;
};

void read_adamw(config::Section& section, AdamwOptions& options) {
  read_betas(section, options.betas,
             "Adam betas: decay rates of the running averages of the gradient and of its square.");
  section.read("epsilon", options.epsilon,
               {.help = "Adam epsilon, added to the denominator for numerical stability.",
                .range = config::above(0)});
}

void update_adamw(const AdamwOptions& options, const SegmentUpdate& update) {
  auto slice = update.slice;
  slice.first = update.state[0];
  slice.second = update.state[1];
  kernels::adamw(slice,
                 {.lr = update.lr,
                  .beta1 = options.betas[0],
                  .beta2 = options.betas[1],
                  .epsilon = options.epsilon,
                  .weight_decay = update.weight_decay,
                  .step = update.step},
                 update.gradient_scale);
}

}  // namespace

// arXiv:1711.05101
OptimizerDefinition adamw() {
  return define_optimizer({.name = "adamw",
                           .state = {"first_moment", "second_moment"},
                           .is_fused = true,
                           .is_elementwise = true},
                          read_adamw, update_adamw);
}

}  // namespace weft::train
