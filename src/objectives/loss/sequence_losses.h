#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "nn/forward_context.h"

namespace weft::objectives {

/// Sets the loss of each sequence, from which layers that draw at random learn
/// (nn/auxiliary_losses.h), if there are any. `loss_of`: of sequence b, a scalar.
void set_sequence_losses(const nn::ForwardContext& context,
                         int64_t sequences,
                         const std::function<at::Tensor(int64_t)>& loss_of);

}  // namespace weft::objectives
