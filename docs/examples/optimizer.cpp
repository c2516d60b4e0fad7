// The program `weft` with an optimizer of our own, `train.optimizer.type: rmsprop` (Tieleman and
// Hinton, 2012), as torch.optim.RMSprop: the gradient divided by the root of a running mean of its
// squares. Weight decay is decoupled (arXiv:1711.05101).
//
//   train:
//     optimizer: {type: rmsprop, lr: 1e-3, smoothing: 0.99}
#include <ATen/ATen.h>

#include "cli/run.h"
#include "train/optimizer/optimizer_registry.h"

namespace {

struct RmspropOptions {
  double smoothing = 0.99;
  double epsilon = 1e-8;
};

void read_rmsprop(weft::config::Section& section, RmspropOptions& options) {
  section.read("smoothing", options.smoothing,
               {.help = "Decay of the running mean of the squares.",
                .range = weft::config::half_open(0, 1)});
  section.read("epsilon", options.epsilon,
               {.help = "Added to the root of the mean square, against division by nothing.",
                .range = weft::config::above(0)});
}

/// Changes the weights and the state in place. Element-wise operations do not depend on the number
/// of threads; gaps between parameters stay zero.
void update_rmsprop(const RmspropOptions& options, const weft::train::SegmentUpdate& update) {
  const auto gradient = update.gradient(0, update.count());
  const auto& mean_square = update.state[0];
  mean_square.mul_(options.smoothing).addcmul_(gradient, gradient, 1 - options.smoothing);
  update.slice.master.mul_(1 - update.lr * update.weight_decay)
      .addcdiv_(gradient, mean_square.sqrt().add_(options.epsilon), -update.lr);
}

}  // namespace

int main(int argc, char** argv) {
  weft::train::register_optimizer(weft::train::define_optimizer(
      {.name = "rmsprop", .state = {"mean_square"}, .is_elementwise = true}, read_rmsprop,
      update_rmsprop));
  return weft::run(argc, argv);
}
