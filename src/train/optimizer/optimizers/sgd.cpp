#include "train/optimizer/optimizer_registry.h"

namespace weft::train {

namespace {

struct SgdOptions {
  double momentum = 0.9;
};

void read_sgd(config::Section& section, SgdOptions& options) {
  section.read("momentum", options.momentum,
               {.help = "Momentum: fraction of the previous update that is added to the gradient.",
                .range = config::half_open(0, 1)});
}

void update_sgd(const SgdOptions& options, const SegmentUpdate& update) {
  auto slice = update.slice;
  slice.first = update.state[0];
  kernels::sgd(slice,
               {.lr = update.lr,
                .momentum = options.momentum,
                .weight_decay = update.weight_decay,
                .is_first_step = update.step == 1},
               update.gradient_scale);
}

}  // namespace

// As torch.optim.SGD: the decay is added to the gradient.
OptimizerDefinition sgd() {
  return define_optimizer(
      {.name = "sgd", .state = {"momentum"}, .is_fused = true, .is_elementwise = true}, read_sgd,
      update_sgd);
}

}  // namespace weft::train
