#include "kernels/linear/product.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "kernels/fused.h"
#include "kernels/linear/blocked_product.h"

namespace weft::kernels {
namespace {

constexpr int64_t kLeastTokens = 32;
constexpr int64_t kFewRowsWork = 1 << 16;  // weights that are worth a thread of their own

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

/// Whether vector code may read all of them as elements of one type.
bool are_alike(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const auto is_like = [&](const at::Tensor& x) {
    return x.scalar_type() == a.scalar_type() && is_served(x) && !x.is_conj() && !x.is_neg();
  };
  return is_like(a) && is_like(b) && (!bias.defined() || (is_like(bias) && bias.is_contiguous())) &&
         a.numel() > 0 && b.numel() > 0;
}

bool is_single(const at::Tensor& x) { return x.scalar_type() == at::kFloat; }

/// Of fp32: blocks of few rows are not worth packing.
bool has_few_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  return is_single(a) && a.size(0) <= cpu::kMostFewRows && are_alike(a, b, bias);
}

/// The same pieces whatever the number of threads. `work` says how the weight lies.
at::Tensor run_few(const at::Tensor& a, const at::Tensor& bias, cpu::FewRows work) {
  const auto out = at::empty({a.size(0), work.columns}, a.options());
  work.x = elements<float>(a);
  work.x_row = a.stride(0);
  work.x_depth = a.stride(1);
  work.bias = elements<float>(bias);
  work.out = elements<float>(out);
  work.rows = a.size(0);
  work.depth = a.size(1);
  const int64_t columns = std::max<int64_t>(1, kFewRowsWork / work.depth / cpu::kPanelColumns) *
                          cpu::kPanelColumns;  // whole vectors of all levels
  for_each_block(work.columns, columns, [&](int64_t /*block*/, int64_t begin, int64_t end) {
    auto piece = work;
    piece.begin = begin;
    piece.end = end;
    cpu::table().few_rows(piece);
  });
  return out;
}

at::Tensor few_rows(const at::Tensor& a, const at::Tensor& given, const at::Tensor& bias) {
  const auto side = side_of(given);
  const auto b = side ? given : given.contiguous();
  const bool is_transposed = side && side->is_transposed;
  return run_few(a, bias,
                 {.weight = elements<float>(b),
                  .weight_stride = is_transposed ? b.stride(1) : b.stride(0),
                  .weight_is_transposed = is_transposed,
                  .columns = b.size(1)});
}

struct ProductSides {
  Side a;
  Side b;
};

bool are_multiplied_blocked(const at::Tensor& x) {
  return is_single(x) ? can_multiply_blocked<float>() : can_multiply_blocked<cpu::Bf16>();
}

/// Where the product is ours, in blocks.
std::optional<ProductSides> served(const at::Tensor& a,
                                   const at::Tensor& b,
                                   const at::Tensor& bias) {
  if (!are_alike(a, b, bias) || !are_multiplied_blocked(a)) {
    return std::nullopt;
  }
  const auto of_a = side_of(a);
  const auto of_b = side_of(b);
  if (!of_a || !of_b) {
    return std::nullopt;
  }
  // The depth of bf16 goes in pairs, from row to row: half of one serves only where it is packed
  // beside zeros. Few tokens give a weight's gradient little to add up, and LibTorch is quicker
  // there.
  const int64_t depth = a.size(1);
  const bool suits =
      is_single(a) ||
      (of_a->is_transposed ? depth >= kLeastTokens : depth % 2 == 0 && of_a->stride % 2 == 0);
  return suits ? std::optional<ProductSides>({*of_a, *of_b}) : std::nullopt;
}

bool can_hold_sum(const at::Tensor& sum, const at::Tensor& a) {
  const auto side = side_of(sum);
  return are_alike(sum, a, {}) && side && !side->is_transposed;
}

struct Finish {
  double scale = 1;
  bool adds = false;
};

void product_multiply(const at::Tensor& out,
                      const at::Tensor& a,
                      const at::Tensor& b,
                      const at::Tensor& bias,
                      const ProductSides& sides,
                      const Finish& finish) {
  with_element(a, [&](auto element) {
    using T = decltype(element);
    multiply_blocked<T>({.rows = out.size(0),
                         .columns = out.size(1),
                         .depth = a.size(1),
                         .a = elements<T>(a),
                         .a_stride = sides.a.stride,
                         .a_is_transposed = sides.a.is_transposed,
                         .b = elements<T>(b),
                         .b_stride = sides.b.stride,
                         .b_is_transposed = sides.b.is_transposed,
                         .out = elements<T>(out),
                         .out_stride = out.stride(0),
                         .bias = elements<T>(bias),
                         .scale = static_cast<float>(finish.scale),
                         .adds = finish.adds});
  });
}

void check_product(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0),
              "product expects (N, K) and (K, F), got ", a.sizes(), " and ", b.sizes());
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  check_product(a, b);
  TORCH_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == b.size(1)),
              "product expects a bias (", b.size(1), "), got ", bias.sizes());
  if (has_few_rows(a, b, bias)) {
    return few_rows(a, b, bias);
  }
  if (const auto sides = served(a, b, bias)) {
    auto out = at::empty({a.size(0), b.size(1)}, a.options());
    product_multiply(out, a, b, bias, *sides, {});
    return out;
  }
  return bias.defined() ? at::addmm(bias, a, b) : at::mm(a, b);
}

PackedMatrix packed(const at::Tensor& b) {
  TORCH_CHECK(b.dim() == 2, "a right side (K, F) is expected, got ", b.sizes());
  const auto given = b.detach();
  PackedMatrix result{.panels = {}, .whole = given, .depth = b.size(0), .columns = b.size(1)};
  const auto side = side_of(given);
  if (!are_alike(given, given, {}) || !side || !are_multiplied_blocked(given) ||
      (!is_single(given) && b.size(0) % 2 != 0)) {
    return result;
  }
  with_element(given, [&](auto element) {
    using T = decltype(element);
    const BlockedProduct<T> matrix{.columns = given.size(1),
                                   .depth = given.size(0),
                                   .b = elements<T>(given),
                                   .b_stride = side->stride,
                                   .b_is_transposed = side->is_transposed};
    result.panels = at::empty({packed_size(matrix)}, given.options());
    pack_right(matrix, elements<T>(result.panels));
  });
  result.whole.reset();
  return result;
}

at::Tensor product(const at::Tensor& given, const PackedMatrix& b, const at::Tensor& bias) {
  if (!b.panels.defined()) {
    return product(given, b.whole, bias);
  }
  TORCH_CHECK(given.dim() == 2 && given.size(1) == b.depth &&
                  given.scalar_type() == b.panels.scalar_type() && given.device().is_cpu(),
              "product expects (N, ", b.depth, ") in ", b.panels.scalar_type(), ", got ",
              given.sizes(), " in ", given.scalar_type());
  const auto a = given.contiguous();
  if (has_few_rows(a, b.panels, bias)) {
    return run_few(
        a, bias,
        {.weight = elements<float>(b.panels), .weight_is_packed = true, .columns = b.columns});
  }
  auto out = at::empty({a.size(0), b.columns}, a.options());
  if (out.numel() > 0) {
    with_element(a, [&](auto element) {
      using T = decltype(element);
      multiply_blocked<T>({.rows = a.size(0),
                           .columns = b.columns,
                           .depth = b.depth,
                           .a = elements<T>(a),
                           .a_stride = a.stride(0),
                           .panels = elements<T>(b.panels),
                           .out = elements<T>(out),
                           .out_stride = out.stride(0),
                           .bias = elements<T>(bias)});
    });
  }
  return out;
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale) {
  check_product(a, b);
  TORCH_CHECK(sum.dim() == 2 && sum.size(0) == a.size(0) && sum.size(1) == b.size(1),
              "add_product expects a sum (", a.size(0), ", ", b.size(1), "), got ", sum.sizes());
  at::Tensor target = sum;
  if (has_few_rows(a, b, {})) {
    target.add_(few_rows(a, b, {}), scale);
    return;
  }
  const auto sides = can_hold_sum(sum, a) ? served(a, b, {}) : std::nullopt;
  if (sides) {
    product_multiply(sum, a, b, {}, *sides, {.scale = scale, .adds = true});
  } else {
    target.addmm_(a, b, 1, scale);
  }
}

}  // namespace weft::kernels
