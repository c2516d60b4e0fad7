#include "kernels/label_smoothing.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/accumulate_type.h"
#include "kernels/operation_profiler.h"

namespace weft::kernels {

at::Tensor label_smoothing_term(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets) {
  const ScopedOperationTimer timer(Operation::kLoss);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1) &&
                  targets.dim() == 1 && targets.size(0) == x.size(0),
              "label_smoothing_term expects x (M, D), weight (V, D) and targets (M), got ",
              x.sizes(), ", ", weight.sizes(), " and ", targets.sizes());
  const auto type = accumulate_type(x);
  const auto rows = x.to(type);                                   // (M, D)
  const auto wanted = weight.index_select(0, targets).to(type);   // (M, D)
  const auto mean = weight.sum(0, false, type) / weight.size(0);  // (D)
  auto lead = (rows * wanted).sum() - rows.sum(0).dot(mean);
  if (bias.defined()) {
    const auto values = bias.to(type);
    lead = lead + values.index_select(0, targets).sum() - values.mean() * targets.size(0);
  }
  return lead;
}

}  // namespace weft::kernels
