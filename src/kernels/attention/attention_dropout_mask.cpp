#include "kernels/attention/attention_dropout_mask.h"

#include <ATen/ATen.h>

#include "kernels/random_bits.h"
#include "kernels/reference.h"
#include "kernels/to_device.h"

namespace weft::kernels {

at::Tensor attention_dropout_mask(const WeightShape& shape,
                                  double p,
                                  const RngKey& rng_key,
                                  const at::Device& device) {
  const auto rule = attention_dropout_rule(p, rng_key);
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const auto sequence =
      (to_device(shape.sequences, device) + rng_key.first_sequence).view({-1, 1, 1, 1});
  auto head = at::arange(shape.heads, options).view({1, -1, 1, 1});
  if (!shape.numbers.empty()) {
    head = head + shape.heads * to_device(shape.numbers, device).view({-1, 1, 1, 1});
  }
  const auto stride = dropout_row_stride(shape.keys);
  const auto size = shape.queries * stride;
  const auto bits =
      reference::philox_bits(rule, 0, (size + kDropoutTile - 1) / kDropoutTile, sequence, head);
  return reference::dropout_mask(rule, bits.narrow(-1, 0, size))
      .view({-1, shape.heads, shape.queries, stride})
      .narrow(-1, 0, shape.keys);
}

}  // namespace weft::kernels
