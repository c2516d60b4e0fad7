#include "nn/auxiliary_losses.h"

#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

namespace weft::nn {

void set_sequence_losses(const ForwardContext& context,
                         int64_t sequences,
                         const std::function<at::Tensor(int64_t)>& loss_of) {
  if (context.auxiliary_losses == nullptr || !context.auxiliary_losses->has_draws()) {
    return;
  }
  const at::NoGradGuard guard;
  std::vector<at::Tensor> losses;
  for (int64_t b = 0; b < sequences; ++b) {
    losses.push_back(loss_of(b).to(at::kFloat));
  }
  context.auxiliary_losses->set_sequence_losses(at::stack(losses));
}

}  // namespace weft::nn
