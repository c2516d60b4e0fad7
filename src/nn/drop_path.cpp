#include "nn/drop_path.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/random.h"
#include "kernels/to_device.h"

namespace weft::nn {

at::Tensor drop_path(const at::Tensor& branch,
                     double rate,
                     uint32_t site,
                     const ForwardContext& context) {
  if (context.rate(rate) == 0) {
    return branch;
  }
  auto factors = at::empty({branch.size(0), 1}, at::kFloat);  // (rows, 1)
  auto* row = factors.data_ptr<float>();
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    Random random(hash_combine(context.seed, site), RandomPurpose::kDropout, context.step,
                  static_cast<uint64_t>(context.first_sequence + b));
    const auto factor = random.uniform_double() < rate ? 0.0F : static_cast<float>(1 / (1 - rate));
    row = std::fill_n(row, context.layout.length(b), factor);
  }
  return branch * kernels::to_device(factors, branch.device()).to(branch.scalar_type());
}

}  // namespace weft::nn
