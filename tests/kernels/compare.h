#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "kernels/cpu/kernel_table.h"
#include "kernels/layout.h"

namespace weft::kernels::comparison {

/// Sequences of these lengths.
inline Layout layout_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets{0};
  for (const auto length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return Layout::from_offsets(offsets, at::kCPU);
}

using Operation = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Output of an operation and the gradients of its inputs (undefined for integers), for a fixed
/// gradient of the output.
inline std::vector<at::Tensor> run(const Operation& operation,
                                   const std::vector<at::Tensor>& inputs,
                                   at::ScalarType type) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) {
    leaves.push_back(input.defined() && input.is_floating_point()
                         ? input.detach().to(type).clone().requires_grad_(true)
                         : input);
  }
  const auto out = operation(leaves);
  std::vector<at::Tensor> results{out.detach()};
  const auto gradient =
      at::arange(out.numel(), at::kFloat).mul_(0.7).sin_().to(at::kBFloat16).view_as(out);
  out.backward(out.dim() == 0 ? at::full_like(out, 0.5) : gradient.to(out.scalar_type()));
  for (const auto& leaf : leaves) {
    results.push_back(leaf.defined() && leaf.requires_grad() ? leaf.grad() : at::Tensor());
  }
  return results;
}

struct Tolerance {
  double absolute = 1e-6;
  double relative = 1e-5;  // of the largest expected value
};

inline Tolerance tolerance_of(at::ScalarType type) {
  return type == at::kBFloat16 ? Tolerance{.absolute = 1e-3, .relative = 1.0 / 128.0} : Tolerance{};
}

inline void expect_near(const at::Tensor& actual,
                        const at::Tensor& expected,
                        const Tolerance& tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.defined(), expected.defined()) << what;
  if (!actual.defined()) {
    return;
  }
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  if (actual.numel() == 0) {
    return;
  }
  const auto wanted = expected.to(at::kDouble);
  const double error = (actual.to(at::kDouble) - wanted).abs().max().item<double>();
  const double size = wanted.abs().max().item<double>();
  EXPECT_LE(error, tolerance.absolute + tolerance.relative * size) << what << ", largest " << size;
}

/// The fused operation in `type` against the plain one in fp32 on the same rounded inputs: result
/// and gradients.
inline void expect_same(const Operation& fused,
                        const Operation& plain,
                        const std::vector<at::Tensor>& inputs,
                        at::ScalarType type) {
  std::vector<at::Tensor> rounded;
  for (const auto& input : inputs) {
    rounded.push_back(input.defined() && input.is_floating_point() ? input.to(type) : input);
  }
  const auto actual = run(fused, rounded, type);
  const auto expected = run(plain, rounded, at::kFloat);
  for (size_t i = 0; i < actual.size(); ++i) {
    expect_near(actual[i], expected[i], tolerance_of(type),
                i == 0 ? "result" : "gradient " + std::to_string(i - 1));
  }
}

/// One run of a test per level of the processor and element type.
struct Variant {
  const char* level;
  at::ScalarType type;
};

inline void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.level << (variant.type == at::kFloat ? " fp32" : " bf16");
}

class EveryVariant : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    if (!cpu::use_level(GetParam().level)) {
      GTEST_SKIP() << "this processor has no " << GetParam().level;
    }
  }
  void TearDown() override {
    for (const char* level : {"plain", "avx2", "avx512", "avx512_vnni", "avx512_bf16"}) {
      cpu::use_level(level);
    }
  }
  at::ScalarType type() const { return GetParam().type; }
};

inline const auto kVariants = ::testing::Values(Variant{"plain", at::kFloat},
                                                Variant{"plain", at::kBFloat16},
                                                Variant{"avx2", at::kFloat},
                                                Variant{"avx2", at::kBFloat16},
                                                Variant{"avx512", at::kFloat},
                                                Variant{"avx512", at::kBFloat16},
                                                Variant{"avx512_vnni", at::kFloat},
                                                Variant{"avx512_vnni", at::kBFloat16},
                                                Variant{"avx512_bf16", at::kFloat},
                                                Variant{"avx512_bf16", at::kBFloat16});

inline std::string variant_name(const ::testing::TestParamInfo<Variant>& info) {
  return std::string(info.param.level) + (info.param.type == at::kFloat ? "Fp32" : "Bf16");
}

/// Runs the body with this number of threads, then restores the previous number.
template <class Body>
auto with_threads(int threads, const Body& body) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  auto result = body();
  at::set_num_threads(before);
  return result;
}

/// All tensors equal bit for bit.
inline bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined() || (a[i].defined() && !at::equal(a[i], b[i]))) {
      return false;
    }
  }
  return a.size() == b.size();
}

}  // namespace weft::kernels::comparison
