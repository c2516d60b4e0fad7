#include "nn/segment_sum.h"

#include <optional>
#include <vector>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

at::Tensor segment_sum(const at::Tensor& x, const kernels::Layout& layout) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == layout.tokens(), "segment_sum expects (",
              layout.tokens(), ", D), got ", x.sizes());
  std::vector<int64_t> lengths;
  for (std::size_t i = 0; i + 1 < layout.offsets.size(); ++i) {
    lengths.push_back(layout.offsets[i + 1] - layout.offsets[i]);
  }
  return at::segment_reduce(x.to(at::kFloat).contiguous(), "sum",
                            kernels::to_device(lengths, x.device()), std::nullopt, std::nullopt,
                            /*axis=*/0, /*unsafe=*/false, /*initial=*/0);
}

}  // namespace weft::nn
