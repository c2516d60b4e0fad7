#include "kernels/sum.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"

namespace weft::kernels {

namespace {

// LibTorch sums fewer elements than this in one thread, and a row sum never splits a row.
constexpr int64_t kInOneThread = 4096;

constexpr int64_t kSumRows = 128;  // that are added up to one partial sum on a CPU

}  // namespace

at::Tensor deterministic_sum(const at::Tensor& x) {
  const int64_t rows = x.numel() / kInOneThread;
  if (rows < 2 || !x.device().is_cpu()) {
    return x.sum();
  }
  const auto flat = x.reshape({-1});
  const auto whole =
      deterministic_sum(flat.narrow(0, 0, rows * kInOneThread).view({rows, -1}).sum(1));
  const int64_t rest = x.numel() - rows * kInOneThread;
  return rest == 0 ? whole : whole + flat.narrow(0, rows * kInOneThread, rest).sum();
}

at::Tensor column_sum(const at::Tensor& x) {
  const int64_t part_rows = x.is_cuda() ? cuda::kSumRows : kSumRows;
  const int64_t rows = x.size(0);
  const int64_t columns = x.size(1);
  const auto options = x.options().dtype(at::kFloat);
  if (rows == 0) {
    return at::zeros({columns}, options);
  }
  const auto parts = at::empty({divide_up(rows, part_rows), columns}, options);
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    for_each_block(x, rows, part_rows, [&](int64_t begin, int64_t end) {
      operations<T>(x).column_sum(elements<T>(x) + begin * columns, end - begin, columns,
                                  elements<float>(parts) + begin / part_rows * columns);
    });
  });
  return parts.size(0) == 1 ? parts[0] : column_sum(parts);
}

namespace {

class RepeatRow : public torch::autograd::Function<RepeatRow> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/,
                            const at::Tensor& row,
                            int64_t count) {
    return row.unsqueeze(0).expand({count, -1});
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/,
                                                 const torch::autograd::variable_list& gradients) {
    const auto& gradient = gradients[0];
    const auto sum = has_fused_kernel(gradient)
                         ? column_sum(gradient.contiguous()).to(gradient.scalar_type())
                         : gradient.sum(0);
    return {sum, {}};
  }
};

}  // namespace

at::Tensor repeat_row(const at::Tensor& row, int64_t count) { return RepeatRow::apply(row, count); }

}  // namespace weft::kernels
