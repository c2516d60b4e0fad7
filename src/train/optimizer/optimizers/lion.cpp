#include <algorithm>

#include <ATen/ATen.h>

#include "train/optimizer/optimizer_registry.h"

namespace weft::train {

namespace {

// A piece of this size keeps the temporary tensors in the cache, and out of the memory's account.
constexpr int64_t kLionPiece = int64_t{1} << 17;

struct LionOptions {
  std::array<double, 2> betas = {0.9, 0.99};
};

void read_lion(config::Section& section, LionOptions& options) {
  read_betas(section, options.betas,
             "Lion betas: weight of the momentum in the update direction, and decay rate of the "
             "momentum.");
}

// arXiv:2302.06675, algorithm 2, in ATen operations: a vector kernel would need a dozen lines in
// five files of src/kernels, and the update is a small part of a step. Every operation rounds once
// (no multiplication is fused with an addition), so vector width and threads change no bit.
void update_lion(const LionOptions& options, const SegmentUpdate& update) {
  const auto [beta1, beta2] = options.betas;
  // An extreme rate becomes infinite, as in the kernels: the trainer finds out and takes it back.
  const auto lr = static_cast<float>(update.lr);
  const auto decay = static_cast<float>(1.0 - update.lr * update.weight_decay);
  for (int64_t begin = 0; begin < update.count(); begin += kLionPiece) {
    const int64_t count = std::min(kLionPiece, update.count() - begin);
    const auto weights = update.slice.master.narrow(0, begin, count);
    const auto momentum = update.state[0].narrow(0, begin, count);
    const auto gradient = update.gradient(begin, count);
    const auto direction = (gradient * (1.0 - beta1)).add_(momentum * beta1).sign_();
    weights.mul_(decay).sub_(direction.mul_(lr));
    momentum.mul_(beta2).add_(gradient.mul_(1.0 - beta2));
  }
}

}  // namespace

OptimizerDefinition lion() {
  return define_optimizer({.name = "lion", .state = {"momentum"}, .is_elementwise = true},
                          read_lion, update_lion);
}

}  // namespace weft::train
