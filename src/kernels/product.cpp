#include "kernels/product.h"

#include <ATen/ATen.h>

#include "kernels/blocked_product.h"
#include "kernels/fused.h"

namespace weft::kernels {
namespace {

constexpr int64_t kLeastTokens = 32;

/// How a matrix lies in memory.
struct Side {
  bool is_transposed;
  int64_t stride;  // of its rows as they lie
};

std::optional<Side> side_of(const at::Tensor& x) {
  if (x.stride(1) == 1 && x.stride(0) >= x.size(1)) {
    return Side{.is_transposed = false, .stride = x.stride(0)};
  }
  if (x.stride(0) == 1 && x.stride(1) >= x.size(0)) {
    return Side{.is_transposed = true, .stride = x.stride(1)};
  }
  return std::nullopt;
}

bool is_half(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kBFloat16 && !x.is_conj() && !x.is_neg();
}

struct Sides {
  Side a;
  Side b;
};

/// Where the product is ours.
std::optional<Sides> served(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const bool is_ours = is_half(a) && is_half(b) && a.numel() > 0 && b.numel() > 0 &&
                       (!bias.defined() || (is_half(bias) && bias.is_contiguous())) &&
                       can_multiply_blocked();
  if (!is_ours) {
    return std::nullopt;
  }
  const auto of_a = side_of(a);
  const auto of_b = side_of(b);
  if (!of_a || !of_b) {
    return std::nullopt;
  }
  // The depth goes in pairs: half of one serves only where it is packed beside zeros. Few tokens
  // give a weight's gradient little to add up, and LibTorch is quicker there.
  const int64_t depth = a.size(1);
  const bool suits = of_a->is_transposed ? depth >= kLeastTokens : depth % 2 == 0;
  return suits ? std::optional<Sides>({*of_a, *of_b}) : std::nullopt;
}

bool can_hold_sum(const at::Tensor& sum) {
  const auto side = side_of(sum);
  return is_half(sum) && side && !side->is_transposed;
}

struct Finish {
  double scale = 1;
  bool adds = false;
};

void multiply(const at::Tensor& out,
              const at::Tensor& a,
              const at::Tensor& b,
              const at::Tensor& bias,
              const Sides& sides,
              const Finish& finish) {
  multiply_blocked({.rows = out.size(0),
                    .columns = out.size(1),
                    .depth = a.size(1),
                    .a = elements<cpu::Bf16>(a),
                    .a_stride = sides.a.stride,
                    .a_is_transposed = sides.a.is_transposed,
                    .b = elements<cpu::Bf16>(b),
                    .b_stride = sides.b.stride,
                    .b_is_transposed = sides.b.is_transposed,
                    .out = elements<cpu::Bf16>(out),
                    .out_stride = out.stride(0),
                    .bias = elements<cpu::Bf16>(bias),
                    .scale = static_cast<float>(finish.scale),
                    .adds = finish.adds});
}

// LibTorch's product of fp32 has other bits in one thread than in more where the result has 2 to 11
// rows: these are computed among rows of zeros.
constexpr int64_t kSafeRows = 12;

bool depends_on_threads(const at::Tensor& a) {
  return a.device().is_cpu() && a.scalar_type() == at::kFloat && a.size(0) > 1 &&
         a.size(0) < kSafeRows;
}

at::Tensor among_zeros(const at::Tensor& a) {
  return at::cat({a, at::zeros({kSafeRows - a.size(0), a.size(1)}, a.options())});
}

void check(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0),
              "product expects (N, K) and (K, F), got ", a.sizes(), " and ", b.sizes());
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  check(a, b);
  TORCH_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == b.size(1)),
              "product expects a bias (", b.size(1), "), got ", bias.sizes());
  if (const auto sides = served(a, b, bias)) {
    auto out = at::empty({a.size(0), b.size(1)}, a.options());
    multiply(out, a, b, bias, *sides, {});
    return out;
  }
  if (depends_on_threads(a)) {
    return product(among_zeros(a), b, bias).narrow(0, 0, a.size(0));
  }
  return bias.defined() ? at::addmm(bias, a, b) : at::mm(a, b);
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale) {
  check(a, b);
  TORCH_CHECK(sum.dim() == 2 && sum.size(0) == a.size(0) && sum.size(1) == b.size(1),
              "add_product expects a sum (", a.size(0), ", ", b.size(1), "), got ", sum.sizes());
  const auto sides = can_hold_sum(sum) ? served(a, b, {}) : std::nullopt;
  if (sides) {
    return multiply(sum, a, b, {}, *sides, {.scale = scale, .adds = true});
  }
  at::Tensor target = sum;
  if (depends_on_threads(a)) {
    target.add_(product(a, b, {}), scale);
  } else {
    target.addmm_(a, b, 1, scale);
  }
}

}  // namespace weft::kernels
