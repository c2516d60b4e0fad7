#include "kernels/linear/product.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/linear/blocked_product.h"

namespace weft::kernels {
namespace {

constexpr int64_t kMinTokens = 32;
constexpr int64_t kFewRowsWork = 1 << 16;  // weights that justify a separate thread

/// Memory layout of a matrix.
struct MatrixLayout {
  bool is_transposed;
  int64_t stride;  // of its rows in memory
};

std::optional<MatrixLayout> matrix_layout(const at::Tensor& x) {
  if (x.stride(1) == 1 && x.stride(0) >= x.size(1)) {
    return MatrixLayout{.is_transposed = false, .stride = x.stride(0)};
  }
  if (x.stride(0) == 1 && x.stride(1) >= x.size(0)) {
    return MatrixLayout{.is_transposed = true, .stride = x.stride(1)};
  }
  return std::nullopt;
}

/// Whether the vector kernels can read all tensors as one element type.
bool are_alike(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const auto is_like = [&](const at::Tensor& x) {
    return x.scalar_type() == a.scalar_type() && has_vector_kernel(x) && !x.is_conj() &&
           !x.is_neg();
  };
  return is_like(a) && is_like(b) && (!bias.defined() || (is_like(bias) && bias.is_contiguous())) &&
         a.numel() > 0 && b.numel() > 0;
}

/// Whether products of x multiply pairs of bf16.
bool multiplies_pairs(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && multiplies_bf16();
}

/// In fp32, a few rows are not worth packing.
bool has_few_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  return a.size(0) <= cpu::kMaxFewRows && are_alike(a, b, bias) && !multiplies_pairs(a);
}

struct Finish {
  double scale = 1;
  bool adds = false;
};

template <class T>
cpu::ProductRows<T> destination(const at::Tensor& out,
                                const at::Tensor& bias,
                                const Finish& finish) {
  return {.rows = out.size(0),
          .columns = out.size(1),
          .out = elements<T>(out),
          .out_stride = out.stride(0),
          .bias = elements<T>(bias),
          .scale = static_cast<float>(finish.scale),
          .adds = finish.adds};
}

/// Splits the columns independently of the number of threads. `work` describes the weight's layout
/// and the destination.
template <class T>
void run_few(const at::Tensor& given, cpu::FewRows<T> work) {
  const auto a = matrix_layout(given) ? given : given.contiguous();
  work.x = elements<T>(a);
  work.x_row = a.stride(0);
  work.x_depth = a.stride(1);
  work.depth = a.size(1);
  const int64_t columns = std::max<int64_t>(1, kFewRowsWork / work.depth / cpu::kPanelColumns) *
                          cpu::kPanelColumns;  // whole vectors at all levels
  for_each_block(work.out.columns, columns, [&](int64_t /*block*/, int64_t begin, int64_t end) {
    auto piece = work;
    piece.begin = begin;
    piece.end = end;
    operations<T>().few_rows(piece);
  });
}

void few_rows(const at::Tensor& out,
              const at::Tensor& a,
              const at::Tensor& given,
              const at::Tensor& bias,
              const Finish& finish) {
  const auto layout = matrix_layout(given);
  const auto b = layout ? given : given.contiguous();
  const bool is_transposed = layout && layout->is_transposed;
  dispatch_element_type(a, [&](auto element) {
    using T = decltype(element);
    run_few<T>(a, {.weight = elements<T>(b),
                   .weight_stride = is_transposed ? b.stride(1) : b.stride(0),
                   .weight_is_transposed = is_transposed,
                   .out = destination<T>(out, bias, finish)});
  });
}

struct ProductSides {
  MatrixLayout a;
  MatrixLayout b;
};

bool are_multiplied_blocked(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat ? can_multiply_blocked<float>()
                                       : can_multiply_blocked<cpu::Bf16>();
}

/// Layouts for our blocked product, or nullopt if it does not apply.
std::optional<ProductSides> blocked_layouts(const at::Tensor& a,
                                            const at::Tensor& b,
                                            const at::Tensor& bias) {
  if (!are_alike(a, b, bias) || !are_multiplied_blocked(a)) {
    return std::nullopt;
  }
  const auto a_layout = matrix_layout(a);
  const auto b_layout = matrix_layout(b);
  if (!a_layout || !b_layout) {
    return std::nullopt;
  }
  // Pairs are neighbours in a row; half a pair works only if packed and padded with zeros. With few
  // tokens, a weight's gradient sums over a short depth, and LibTorch is faster.
  const int64_t depth = a.size(1);
  const bool suits =
      !multiplies_pairs(a) ||
      (a_layout->is_transposed ? depth >= kMinTokens : depth % 2 == 0 && a_layout->stride % 2 == 0);
  return suits ? std::optional<ProductSides>({*a_layout, *b_layout}) : std::nullopt;
}

bool can_hold_sum(const at::Tensor& sum, const at::Tensor& a) {
  const auto layout = matrix_layout(sum);
  return are_alike(sum, a, {}) && layout && !layout->is_transposed;
}

void product_multiply(const at::Tensor& out,
                      const at::Tensor& a,
                      const at::Tensor& b,
                      const at::Tensor& bias,
                      const ProductSides& layouts,
                      const Finish& finish) {
  dispatch_element_type(a, [&](auto element) {
    using T = decltype(element);
    multiply_blocked<T>({.depth = a.size(1),
                         .a = elements<T>(a),
                         .a_stride = layouts.a.stride,
                         .a_is_transposed = layouts.a.is_transposed,
                         .b = elements<T>(b),
                         .b_stride = layouts.b.stride,
                         .b_is_transposed = layouts.b.is_transposed,
                         .out = destination<T>(out, bias, finish)});
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
  count_product(a, b);
  if (has_few_rows(a, b, bias)) {
    auto out = at::empty({a.size(0), b.size(1)}, a.options());
    few_rows(out, a, b, bias, {});
    return out;
  }
  if (const auto layouts = blocked_layouts(a, b, bias)) {
    auto out = at::empty({a.size(0), b.size(1)}, a.options());
    product_multiply(out, a, b, bias, *layouts, {});
    return out;
  }
  return bias.defined() ? at::addmm(bias, a, b) : at::mm(a, b);
}

PackedMatrix packed(const at::Tensor& b) {
  TORCH_CHECK(b.dim() == 2, "expected a right-hand side (K, F), got ", b.sizes());
  const auto given = b.detach();
  PackedMatrix result{.panels = {}, .whole = given, .depth = b.size(0), .columns = b.size(1)};
  const auto layout = matrix_layout(given);
  if (!are_alike(given, given, {}) || !layout || !are_multiplied_blocked(given) ||
      (multiplies_pairs(given) && b.size(0) % 2 != 0)) {
    return result;
  }
  dispatch_element_type(given, [&](auto element) {
    using T = decltype(element);
    const BlockedProduct<T> matrix{.depth = given.size(0),
                                   .b = elements<T>(given),
                                   .b_stride = layout->stride,
                                   .b_is_transposed = layout->is_transposed,
                                   .out = {.columns = given.size(1)}};
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
  count_product({.rows = a.size(0), .depth = b.depth, .columns = b.columns});
  auto out = at::empty({a.size(0), b.columns}, a.options());
  if (out.numel() > 0) {
    dispatch_element_type(a, [&](auto element) {
      using T = decltype(element);
      const auto destined = destination<T>(out, bias, {});
      if (has_few_rows(a, b.panels, bias)) {
        run_few<T>(a, {.weight = elements<T>(b.panels), .weight_is_packed = true, .out = destined});
      } else {
        multiply_blocked<T>({.depth = b.depth,
                             .a = elements<T>(a),
                             .a_stride = a.stride(0),
                             .panels = elements<T>(b.panels),
                             .out = destined});
      }
    });
  }
  return out;
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale) {
  check_product(a, b);
  TORCH_CHECK(sum.dim() == 2 && sum.size(0) == a.size(0) && sum.size(1) == b.size(1),
              "add_product expects a sum (", a.size(0), ", ", b.size(1), "), got ", sum.sizes());
  count_product(a, b);
  const Finish finish{.scale = scale, .adds = true};
  const bool holds = can_hold_sum(sum, a);
  if (holds && has_few_rows(a, b, {})) {
    few_rows(sum, a, b, {}, finish);
  } else if (const auto layouts = holds ? blocked_layouts(a, b, {}) : std::nullopt) {
    product_multiply(sum, a, b, {}, *layouts, finish);
  } else {
    at::Tensor(sum).addmm_(a, b, 1, scale);
  }
}

}  // namespace weft::kernels
