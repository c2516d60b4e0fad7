#include "kernels/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/fused.h"

namespace weft::kernels {
namespace {

void check_optimizer(const UpdateSlice& slice) {
  const auto suits = [&](const at::Tensor& x) {
    return !x.defined() ||
           (x.dim() == 1 && x.is_contiguous() && x.size(0) == slice.master.size(0) &&
            x.device() == slice.master.device());
  };
  TORCH_CHECK(slice.master.defined() && slice.gradient.defined() && suits(slice.master) &&
                  suits(slice.compute) && suits(slice.gradient) && suits(slice.first) &&
                  suits(slice.second),
              "an update expects contiguous 1-D slices of equal length on one device");
  TORCH_CHECK(slice.master.scalar_type() == at::kFloat &&
                  (!slice.compute.defined() || slice.compute.scalar_type() == at::kBFloat16),
              "an update expects an fp32 master copy and a bf16 copy");
}

void aten_adamw(const UpdateSlice& slice, const AdamwRule& rule, double gradient_scale) {
  const auto gradient = slice.gradient.to(at::kFloat) * gradient_scale;
  const auto step = at::full({}, static_cast<double>(rule.step), gradient.options());
  at::_fused_adamw_({slice.master}, {gradient}, {slice.first}, {slice.second}, {}, {step}, rule.lr,
                    rule.beta1, rule.beta2, rule.weight_decay, rule.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
}

void aten_sgd(const UpdateSlice& slice, const cpu::SgdSlice<float>& rule) {
  auto gradient = slice.gradient.to(at::kFloat) * rule.gradient_scale;
  if (rule.weight_decay != 0.0F) {
    gradient.add_(slice.master, rule.weight_decay);
  }
  if (slice.first.defined()) {
    slice.first.mul_(rule.momentum).add_(gradient);
  }
  slice.master.add_(slice.first.defined() ? slice.first : gradient, -rule.lr);
}

// The rule without tensors, in the precision of the step: double up to here, float afterwards.
template <class T>
cpu::AdamwSlice<T> adamw_slice(const AdamwRule& rule, double gradient_scale) {
  const auto step = static_cast<double>(rule.step);
  return {
      .master = nullptr,
      .compute = nullptr,
      .gradient = nullptr,
      .first = nullptr,
      .second = nullptr,
      .size = 0,
      .gradient_scale = static_cast<float>(gradient_scale),
      .decay = static_cast<float>(1.0 - rule.lr * rule.weight_decay),
      .beta1 = static_cast<float>(rule.beta1),
      .beta2 = static_cast<float>(rule.beta2),
      .step_size = static_cast<float>(rule.lr / (1.0 - std::pow(rule.beta1, step))),
      .second_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(rule.beta2, step))),
      .epsilon = static_cast<float>(rule.epsilon)};
}

template <class T>
cpu::SgdSlice<T> sgd_slice(const SgdRule& rule, double gradient_scale) {
  return {.master = nullptr,
          .compute = nullptr,
          .gradient = nullptr,
          .first = nullptr,
          .size = 0,
          .gradient_scale = static_cast<float>(gradient_scale),
          .lr = static_cast<float>(rule.lr),
          .momentum = rule.is_first_step ? 0.0F : static_cast<float>(rule.momentum),
          .weight_decay = static_cast<float>(rule.weight_decay)};
}

// Pointer to the tensor's elements from `begin`; null if it is undefined.
template <class T>
T* from(const at::Tensor& x, int64_t begin) {
  return x.defined() ? elements<T>(x) + begin : nullptr;
}

// Consecutive blocks with the same marks.
struct Run {
  int64_t begin = 0;
  int64_t end = 0;
  bool has_gradient = true;
  bool has_moments = true;
};

Run run_at(const UpdateSlice& slice, int64_t begin, int64_t end) {
  const auto is_nonzero = [](const uint8_t* marks, int64_t i) {
    return marks == nullptr || marks[i / kUpdateBlock] != 0;
  };
  Run run{.begin = begin,
          .end = begin,
          .has_gradient = is_nonzero(slice.nonzero_gradient, begin),
          .has_moments = is_nonzero(slice.nonzero_moments, begin)};
  do {
    run.end += kUpdateBlock;
  } while (run.end < end && is_nonzero(slice.nonzero_gradient, run.end) == run.has_gradient &&
           is_nonzero(slice.nonzero_moments, run.end) == run.has_moments);
  run.end = std::min(run.end, end);
  return run;
}

// Calls body(run) for all blocks. A GPU updates all elements at once. Threads take chunks
// dynamically, because skipped blocks are cheap and come in clusters.
template <class Body>
void for_each_run(const UpdateSlice& slice, const Body& body) {
  constexpr int64_t kChunk = 4 * kGrain;
  const int64_t size = slice.master.size(0);
  if (slice.master.is_cuda()) {
    body(Run{.begin = 0, .end = size});
    return;
  }
  const int64_t pieces = divide_up(size, kChunk);
  std::atomic<int64_t> next{0};
  parallel_for(0, std::min(pieces, parallel_threads()), 1, [&](int64_t /*from*/, int64_t /*to*/) {
    for (int64_t begin = next.fetch_add(kChunk); begin < size; begin = next.fetch_add(kChunk)) {
      const int64_t end = std::min(size, begin + kChunk);
      for (Run run{.begin = begin, .end = begin}; run.end < end;) {
        run = run_at(slice, run.end, end);
        body(run);
      }
    }
  });
}

// Ignores the gradient marks where a zero gradient can still change the result (0 * infinity, 0 /
// 0, weight decay added to the gradient).
UpdateSlice without_nonzero_blocks(UpdateSlice slice) {
  slice.nonzero_gradient = nullptr;
  return slice;
}

void mark_nonzero_moments(const UpdateSlice& slice, const Run& run) {
  if (slice.nonzero_moments != nullptr) {
    std::fill(slice.nonzero_moments + run.begin / kUpdateBlock,
              slice.nonzero_moments + block_count(run.end), uint8_t{1});
  }
}

template <class T>
void vector_adamw(const UpdateSlice& given, const cpu::AdamwSlice<T>& rule) {
  const bool can_skip = std::isfinite(rule.step_size) && std::isfinite(rule.gradient_scale) &&
                        rule.gradient_scale >= 0.0F && rule.epsilon > 0.0F;
  const auto slice = can_skip ? given : without_nonzero_blocks(given);
  for_each_run(slice, [&](const Run& run) {
    const bool is_skipped = !run.has_gradient && !run.has_moments;
    if (is_skipped && rule.decay == 1.0F) {
      return;
    }
    auto part = rule;
    part.master = from<float>(slice.master, run.begin);
    part.compute = from<cpu::Bf16>(slice.compute, run.begin);
    part.gradient = run.has_gradient ? from<T>(slice.gradient, run.begin) : nullptr;
    part.first = is_skipped ? nullptr : from<float>(slice.first, run.begin);
    part.second = is_skipped ? nullptr : from<float>(slice.second, run.begin);
    part.size = run.end - run.begin;
    operations<T>(slice.master).adamw(part);
    if (!is_skipped) {
      mark_nonzero_moments(slice, run);
    }
  });
}

template <class T>
void vector_sgd(const UpdateSlice& given, const cpu::SgdSlice<T>& rule) {
  const bool can_skip = std::isfinite(rule.lr) && std::isfinite(rule.gradient_scale) &&
                        rule.gradient_scale >= 0.0F && rule.weight_decay == 0.0F;
  const auto slice = can_skip ? given : without_nonzero_blocks(given);
  for_each_run(slice, [&](const Run& run) {
    if (!run.has_gradient && !run.has_moments) {
      return;
    }
    auto part = rule;
    part.master = from<float>(slice.master, run.begin);
    part.compute = from<cpu::Bf16>(slice.compute, run.begin);
    part.gradient = run.has_gradient ? from<T>(slice.gradient, run.begin) : nullptr;
    part.first = from<float>(slice.first, run.begin);
    part.size = run.end - run.begin;
    operations<T>(slice.master).sgd(part);
    if (slice.first.defined()) {
      mark_nonzero_moments(slice, run);
    }
  });
}

}  // namespace

void finish_update(const UpdateSlice& slice) {
  const at::NoGradGuard no_grad;
  if (slice.compute.defined()) {
    slice.compute.copy_(slice.master);
  }
  slice.gradient.zero_();
  if (slice.nonzero_moments != nullptr) {
    std::fill_n(slice.nonzero_moments, block_count(slice.master.size(0)), uint8_t{1});
  }
}

void adamw(const UpdateSlice& slice, const AdamwRule& rule, double gradient_scale) {
  check_optimizer(slice);
  TORCH_CHECK(slice.first.defined() && slice.second.defined(), "adamw expects two moments");
  const at::NoGradGuard no_grad;
  if (!has_fused_kernel(slice.master) || !has_fused_kernel(slice.gradient)) {
    aten_adamw(slice, rule, gradient_scale);
    finish_update(slice);
    return;
  }
  dispatch_element_type(slice.gradient, [&](auto element) {
    vector_adamw(slice, adamw_slice<decltype(element)>(rule, gradient_scale));
  });
}

void sgd(const UpdateSlice& slice, const SgdRule& rule, double gradient_scale) {
  check_optimizer(slice);
  TORCH_CHECK(rule.momentum == 0.0 || slice.first.defined(), "sgd expects a momentum buffer");
  const at::NoGradGuard no_grad;
  auto used = slice;
  if (rule.momentum == 0.0) {
    used.first.reset();
  }
  if (!has_fused_kernel(slice.master) || !has_fused_kernel(slice.gradient)) {
    aten_sgd(used, sgd_slice<float>(rule, gradient_scale));
    finish_update(used);
    return;
  }
  dispatch_element_type(slice.gradient, [&](auto element) {
    vector_sgd(used, sgd_slice<decltype(element)>(rule, gradient_scale));
  });
}

SumsOfSquares sums_of_squares(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  if (!x.is_cpu()) {
    return {.sums = squared_norms({x}), .nonzero_blocks = {}};
  }
  if (!has_vector_kernel(x) || !x.is_contiguous()) {
    const auto values = x.flatten().to(at::kDouble);
    return {.sums = {values.dot(values).item<double>()}, .nonzero_blocks = {}};
  }
  constexpr int64_t kChunk = 65536;
  static_assert(kChunk % kSumBlock == 0 && kSumBlock % kUpdateBlock == 0);
  SumsOfSquares result{.sums = std::vector<double>(divide_up(x.numel(), kSumBlock)),
                       .nonzero_blocks = NonzeroBlocks(block_count(x.numel()))};
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    for_each_block(x.numel(), kChunk, [&](int64_t /*piece*/, int64_t first, int64_t last) {
      for (int64_t begin = first; begin < last; begin += kSumBlock) {
        result.sums[begin / kSumBlock] = operations<T>().sum_of_squares(
            from<const T>(x, begin), std::min(last - begin, kSumBlock),
            result.nonzero_blocks.data() + begin / kUpdateBlock);
      }
    });
  });
  return result;
}

SquaredNorm squared_norm(const at::Tensor& x) {
  auto [sums, nonzero_blocks] = sums_of_squares(x);
  return {.value = std::accumulate(sums.begin(), sums.end(), 0.0),
          .nonzero_blocks = std::move(nonzero_blocks)};
}

std::vector<double> squared_norms(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  if (!tensors.empty() && !tensors.front().is_cpu()) {
    const auto sums = at::stack(at::_foreach_norm(tensors, 2, at::kDouble)).square().cpu();
    return {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
  }
  std::vector<double> sums;
  for (const auto& tensor : tensors) {
    sums.push_back(squared_norm(tensor).value);
  }
  return sums;
}

void accumulate_and_zero(const at::Tensor& sum, const at::Tensor& x) {
  TORCH_CHECK(sum.scalar_type() == at::kFloat && sum.sizes() == x.sizes() && sum.is_contiguous() &&
                  x.is_contiguous(),
              "expected contiguous tensors of equal size with an fp32 sum, got ", sum.sizes(),
              " and ", x.sizes());
  const at::NoGradGuard no_grad;
  if (!has_fused_kernel(sum) || !has_fused_kernel(x)) {
    sum.add_(x);
    x.zero_();
    return;
  }
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    for_each_range(x, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      operations<T>(x).accumulate_and_zero(from<float>(sum, begin), from<T>(x, begin), end - begin);
    });
  });
}

}  // namespace weft::kernels
