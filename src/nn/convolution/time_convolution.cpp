#include "nn/convolution/time_convolution.h"

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/decoding_state.h"

namespace weft::nn {

SpacedRows::SpacedRows(const kernels::Layout& layout,
                       int64_t front,
                       int64_t back,
                       const at::Device& device)
    : front_(front), back_(back) {
  std::vector<int64_t> windows;
  windows.reserve(static_cast<std::size_t>(layout.tokens()));
  int64_t rows = 0;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    begins_.push_back(rows);
    for (int64_t i = 0; i < layout.length(b); ++i) {
      windows.push_back(rows + i);
    }
    rows += front + layout.length(b) + back;
  }
  windows_ = rows > 0 ? rows - front - back : 0;
  index_ = kernels::to_device(windows, device);
}

at::Tensor SpacedRows::spread(const at::Tensor& x, const at::Tensor& before) const {
  auto shape = x.sizes().vec();
  shape[0] = windows_ + front_ + back_;
  const auto rows = at::zeros(shape, x.options()).index_copy(0, index_ + front_, x);
  if (!before.defined() || front_ == 0) {
    return rows;
  }
  std::vector<int64_t> fronts;
  for (const auto begin : begins_) {
    for (int64_t i = 0; i < front_; ++i) {
      fronts.push_back(begin + i);
    }
  }
  return rows.index_copy(0, kernels::to_device(fronts, x.device()), before.flatten(0, 1));
}

at::Tensor earlier_rows(const at::Tensor& x,
                        int64_t count,
                        int64_t layer,
                        const ForwardContext& context) {
  if (context.decoding_state == nullptr) {
    return {};
  }
  auto& kept = context.decoding_state->sequence_tensor(context.depth(layer), "convolution");
  const auto& layout = context.layout;
  const auto before =
      kept.defined() ? kept : at::zeros({layout.sequences(), count, x.size(1)}, x.options());
  std::vector<at::Tensor> last;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto length = layout.length(b);
    const auto own = x.narrow(0, layout.offsets[static_cast<std::size_t>(b)], length);
    last.push_back(at::cat({before[b], own}).slice(0, length));
  }
  kept = at::stack(last);
  return before;
}

at::Tensor depthwise_convolution(const at::Tensor& spread, const at::Tensor& weight) {
  const auto taps = weight.size(1);
  const auto windows = spread.size(0) - taps + 1;
  const auto kernel = weight.to(spread.scalar_type());
  at::Tensor sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const auto term =
        spread.narrow(0, tap, windows) * kernels::repeat_row(kernel.select(1, tap), windows);
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

at::Tensor grouped_convolution(const at::Tensor& spread, const at::Tensor& weight) {
  const auto dim = weight.size(0);
  const auto width = weight.size(1);  // D / G
  const auto taps = weight.size(2);
  const auto windows = spread.size(0) - taps + 1;
  const auto by_group = spread.view({spread.size(0), dim / width, width}).transpose(0, 1);
  at::Tensor sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const auto weights = weight.select(2, tap)
                             .view({dim / width, width, width})
                             .transpose(1, 2)
                             .to(spread.scalar_type());
    const auto term = kernels::batched_product(by_group.narrow(1, tap, windows), weights);
    sum = sum.defined() ? sum + term : term;
  }
  return sum.transpose(0, 1).flatten(1);
}

void read_kernel_size(config::Section& section, int64_t& taps) {
  section.read("kernel_size", taps,
               {.help = "Kernel size of the convolution; odd.",
                .unit = "tokens",
                .range = config::between(1, 1023)});
  if (taps % 2 == 0) {
    section.fail("kernel_size", str_cat("found ", taps, ", allowed are odd numbers"));
  }
}

}  // namespace weft::nn
