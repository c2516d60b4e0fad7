#include "kernels/draw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/operation_clock.h"
#include "kernels/parallel.h"
#include "kernels/wide.h"

namespace weft::kernels {
namespace {

/// Where the sum of the shares passes `uniform` times their sum, which rounding keeps from 1.
template <class Share>
int64_t passed_at(const Share* shares, int64_t columns, double uniform) {
  double all = 0;
  for (int64_t column = 0; column < columns; ++column) {
    all += shares[column];
  }
  double sum = 0;
  int64_t last = 0;  // that could be drawn
  for (int64_t column = 0; column < columns; ++column) {
    sum += shares[column];
    if (sum > uniform * all) {
      return column;
    }
    last = shares[column] > 0 ? column : last;
  }
  return last;
}

template <class Share>
at::Tensor drawn_rows(const at::Tensor& shares, const at::Tensor& uniforms) {
  constexpr int64_t kAtOnce = int64_t{1} << 15U;  // shares of a thread, at least
  const int64_t columns = shares.size(1);
  auto drawn = at::empty({shares.size(0)}, at::kLong);
  const auto numbers = uniforms.contiguous();
  const auto* const share = shares.const_data_ptr<Share>();
  const auto* const uniform = numbers.const_data_ptr<double>();
  auto* const result = drawn.data_ptr<int64_t>();
  parallel_for(0, shares.size(0), 1 + kAtOnce / columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      result[row] = passed_at(share + row * columns, columns, uniform[row]);
    }
  });
  return drawn;
}

/// The same with ATen, for other devices.
at::Tensor draw_plain_rows(const at::Tensor& shares, const at::Tensor& uniforms) {
  const auto sums = shares.cumsum(1, at::kDouble);                                  // (M, C)
  const auto wanted = uniforms.to(sums.device()).unsqueeze(1) * sums.slice(1, -1);  // (M, 1)
  return at::searchsorted(sums, wanted, false, /*right=*/true)
      .squeeze(1)
      .clamp_max(shares.size(1) - 1);
}

}  // namespace

at::Tensor draw_columns(const at::Tensor& logits, const at::Tensor& uniforms) {
  const Timed timed(Operation::kLoss);
  TORCH_CHECK(logits.dim() == 2 && logits.size(1) > 0 && uniforms.dim() == 1 &&
                  uniforms.size(0) == logits.size(0) && uniforms.scalar_type() == at::kDouble,
              "draw_columns expects logits (M, C) and uniforms (M) double, got ", logits.sizes(),
              " and ", uniforms.sizes());
  const at::NoGradGuard no_grad;
  const auto shares = at::softmax(logits, 1, wide(logits)).contiguous();
  if (!shares.device().is_cpu()) {
    return draw_plain_rows(shares, uniforms);
  }
  return shares.scalar_type() == at::kDouble ? drawn_rows<double>(shares, uniforms)
                                             : drawn_rows<float>(shares, uniforms);
}

}  // namespace weft::kernels
