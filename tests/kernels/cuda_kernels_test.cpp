// The kernels of a CUDA GPU against the plain reference and against those of the CPU.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>

#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/rotary.h"
#include "kernels/compare.h"
#include "kernels/cross_entropy.h"
#include "kernels/cuda/kernel_table.h"
#include "kernels/dropout.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/linear.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

constexpr RngKey kCudaKey{.seed = 3, .step = 9, .site = 4, .first_row = 101};
constexpr double kCudaEpsilon = 1e-5;

class CudaKernels : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (cuda::kernel_table() == nullptr) {
      GTEST_SKIP() << "this build has no CUDA kernels";
    }
    if (at::detail::getCUDAHooks().deviceCount() == 0) {
      GTEST_SKIP() << "this machine has no GPU";
    }
    at::manual_seed(1);
  }

  static std::vector<at::Tensor> moved(const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> result;
    for (const auto& input : inputs) {
      result.push_back(input.defined() ? input.to(at::kCUDA) : input);
    }
    return result;
  }

  /// The operation on the GPU against the plain one on the CPU.
  static void compare(const comparison::Operation& fused,
                      const comparison::Operation& plain,
                      const std::vector<at::Tensor>& inputs) {
    comparison::expect_same([&](const auto& in) { return fused(moved(in)).cpu(); }, plain, inputs,
                            GetParam());
  }

  /// The same operation on both, with their own roundings.
  static void compare_devices(const comparison::Operation& operation,
                              const std::vector<at::Tensor>& inputs) {
    const auto own = comparison::run([&](const auto& in) { return operation(moved(in)).cpu(); },
                                     inputs, GetParam());
    const auto expected = comparison::run(operation, inputs, GetParam());
    for (std::size_t i = 0; i < own.size(); ++i) {
      comparison::expect_near(own[i], expected[i], comparison::tolerance_of(GetParam()),
                              "result " + std::to_string(i));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Types,
                         CudaKernels,
                         ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& parameter) {
                           return parameter.param == at::kFloat ? "Fp32" : "Bf16";
                         });

// One shape for each number of vectors and warps, with and without rows of whole vectors.
const std::vector<std::array<int64_t, 2>> kCudaShapes{{0, 8},     {1, 3},     {7, 33},   {130, 64},
                                                      {40, 100},  {9, 400},   {65, 768}, {2100, 32},
                                                      {33, 1024}, {19, 1540}, {5, 4096}, {3, 8192}};

TEST_P(CudaKernels, NormsEqualTheReference) {
  for (const auto& [rows, columns] : kCudaShapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const auto x = at::randn({rows, columns}) + 3.0;
    const auto weight = at::randn({columns});
    const auto bias = at::randn({columns});
    compare([](const auto& in) { return layer_norm(in[0], in[1], in[2], kCudaEpsilon); },
            [](const auto& in) { return reference::layer_norm(in[0], in[1], in[2], kCudaEpsilon); },
            {x, weight, bias});
    compare([](const auto& in) { return layer_norm(in[0], in[1], {}, kCudaEpsilon); },
            [](const auto& in) { return reference::layer_norm(in[0], in[1], {}, kCudaEpsilon); },
            {x, weight});
    compare([](const auto& in) { return rms_norm(in[0], in[1], kCudaEpsilon); },
            [](const auto& in) { return reference::rms_norm(in[0], in[1], kCudaEpsilon); },
            {x, weight});
  }
}

TEST_P(CudaKernels, NormsAfterAResidualEqualThoseOfTheCpu) {
  for (const auto& [rows, columns] : kCudaShapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    for (const double p : {0.0, 0.25}) {
      compare_devices(
          [&](const auto& in) {
            return add_dropout_norm(in[0], in[1],
                                    {.weight = in[2], .bias = in[3], .epsilon = kCudaEpsilon}, p,
                                    kCudaKey);
          },
          {at::randn({rows, columns}), at::randn({rows, columns}), at::randn({columns}),
           at::randn({columns})});
    }
  }
}

TEST_P(CudaKernels, DropoutHasTheMasksOfTheCpu) {
  for (const auto& [rows, columns] : kCudaShapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const auto x = at::randn({rows, columns}).to(GetParam());
    const auto residual = at::randn({rows, columns}).to(GetParam());
    for (const int64_t first_row : {int64_t{0}, int64_t{101}, int64_t{1} << 36}) {
      auto key = kCudaKey;
      key.first_row = first_row;
      EXPECT_TRUE(at::equal(dropout(x.to(at::kCUDA), 0.3, key).cpu(), dropout(x, 0.3, key)));
      EXPECT_TRUE(at::equal(add_dropout(residual.to(at::kCUDA), x.to(at::kCUDA), 0.3, key).cpu(),
                            add_dropout(residual, x, 0.3, key)));
    }
    compare_devices([](const auto& in) { return add_dropout(in[0], in[1], 0.3, kCudaKey); },
                    {residual, x});
  }
}

TEST_P(CudaKernels, ActivationsEqualTheReference) {
  for (const auto activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                Activation::kSilu, Activation::kTanh}) {
    for (const auto& [rows, columns] :
         {std::array<int64_t, 2>{0, 8}, {3, 10}, {5, 24}, {130, 3072}}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(activation)) + ", " + std::to_string(columns));
      const auto x = at::randn({rows, columns}) * 3.0;
      compare([&](const auto& in) { return activate(in[0], activation); },
              [&](const auto& in) { return reference::activate(in[0], activation); }, {x});
      compare([&](const auto& in) { return activate_gated(in[0], activation); },
              [&](const auto& in) { return reference::activate_gated(in[0], activation); }, {x});
    }
  }
}

TEST_P(CudaKernels, ActivationAndLinearEqualThoseOfTheCpu) {
  for (const bool is_gated : {false, true}) {
    const std::vector<at::Tensor> inputs{at::randn({65, is_gated ? 96 : 48}),
                                         at::randn({40, 48}) / 7.0, at::randn({40})};
    compare_devices(
        [&](const auto& in) {
          return activation_linear(in[0], Activation::kGelu, is_gated, in[1], in[2]);
        },
        inputs);
  }
}

TEST_P(CudaKernels, RotationsEqualTheReference) {
  for (const auto& [width, rotated] :
       {std::array<int64_t, 2>{64, 64}, {64, 32}, {6, 4}, {20, 20}, {24, 8}}) {
    SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(rotated));
    const auto table = rotary_table(50, {.width = rotated, .theta = 100.0}, at::kCPU);
    const auto positions = at::randint(50, {37}, at::kLong);
    const auto heads = [width](const at::Tensor& x) {  // the rows strided, as in attention
      return x.narrow(1, 0, 3 * width).unflatten(1, {3, width});
    };
    compare(
        [&](const auto& in) {
          return apply_rotary(heads(in[0]), table.to(at::kCUDA), positions.to(at::kCUDA));
        },
        [&](const auto& in) { return apply_rotary(heads(in[0]), table, positions); },
        {at::randn({37, 5 * width})});
  }
}

TEST_P(CudaKernels, AttentionEqualsTheReference) {
  const auto compare_with = [](const std::vector<int64_t>& lengths, int64_t width,
                               const AttentionSettings& settings) {
    const auto layout = comparison::layout_of(lengths);
    const auto key_heads = settings.key_heads_or_heads();
    compare(
        [&](const auto& in) {
          auto on_gpu = settings;
          if (on_gpu.rotary.defined()) {
            on_gpu.rotary = on_gpu.rotary.to(at::kCUDA);
          }
          return attention(in[0], Layout::from_offsets(layout.offsets, at::kCUDA), on_gpu, {});
        },
        [&](const auto& in) { return reference::attention(in[0], layout, settings, {}); },
        {at::randn({layout.tokens(), (settings.heads + 2 * key_heads) * width})});
  };
  const auto table = rotary_table(300, {.width = 64, .theta = 100.0}, at::kCPU);
  for (const bool is_causal : {false, true}) {
    SCOPED_TRACE(is_causal);
    compare_with({128, 128, 128}, 64, {.heads = 2, .is_causal = is_causal});  // cuDNN
    compare_with({256, 256}, 64, {.heads = 2, .is_causal = is_causal, .rotary = table});
    compare_with({160}, 32, {.heads = 3, .scale = 0.3, .is_causal = is_causal});
    compare_with({5, 1, 200}, 64, {.heads = 2, .is_causal = is_causal, .rotary = table});
    compare_with({128, 128}, 64, {.heads = 4, .key_heads = 2, .is_causal = is_causal});
    compare_with({128, 128}, 64, {.heads = 2, .is_causal = is_causal, .window_radius = 9});
  }
}

TEST_P(CudaKernels, AttentionDropsWeightsReproducibly) {
  const auto layout = Layout::from_offsets({0, 128, 256}, at::kCUDA);
  const auto qkv = at::randn({256, 3 * 64}).to(GetParam()).to(at::kCUDA);
  const auto attend = [&](double p, uint64_t step) {
    return attention(qkv, layout, {.heads = 1, .dropout = p}, {.seed = 1, .step = step});
  };
  const auto once = attend(0.2, 1);
  EXPECT_TRUE(at::equal(once, attend(0.2, 1)));
  EXPECT_FALSE(at::equal(once, attend(0.2, 2)));
  auto mean = at::zeros(once.sizes(), once.options().dtype(at::kDouble));
  for (uint64_t step = 0; step < 400; ++step) {
    mean += attend(0.2, step);
  }
  comparison::expect_near((mean / 400).cpu(), attend(0.0, 0).cpu(),
                          {.absolute = 0.02, .relative = 0.1}, "mean");
}

TEST_P(CudaKernels, BiasGradientsAreSumsOfRows) {
  for (const auto& [rows, columns] : kCudaShapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const auto g = at::randn({rows, columns}).to(GetParam());
    comparison::expect_near(bias_gradient(g.to(at::kCUDA)).cpu(), g.to(at::kDouble).sum(0),
                            comparison::tolerance_of(GetParam()), "sum");
  }
}

TEST_P(CudaKernels, CrossEntropyEqualsTheReference) {
  for (const auto& [rows, classes] :
       {std::array<int64_t, 2>{1, 2}, {5, 97}, {300, 1024}, {7, 5003}, {40, 50257}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(classes));
    auto targets = at::randint(classes, {rows}, at::kLong);
    if (rows > 2) {
      targets[1] = -100;
      targets[2] = classes - 1;
    }
    const auto logits = at::randn({rows, classes}) * 4.0;
    compare([&](const auto& in) { return cross_entropy_sum(in[0], targets.to(at::kCUDA)); },
            [&](const auto& in) { return reference::cross_entropy_sum(in[0], targets); }, {logits});
    const std::vector<at::Tensor> inputs{at::randn({rows, 24}), at::randn({classes, 24}) / 5.0,
                                         at::randn({classes})};
    compare_devices(
        [&](const auto& in) {
          return linear_cross_entropy(in[0], in[1], in[2], targets.to(in[0].device()));
        },
        inputs);
    compare_devices(
        [&](const auto& in) {
          return linear_cross_entropy(in[0], in[1], {}, targets.to(in[0].device()));
        },
        {inputs[0], inputs[1]});
  }
}

TEST_P(CudaKernels, ATargetOutOfRangeIsSeenInTheLoss) {
  const auto logits = at::randn({3, 10}).to(GetParam()).to(at::kCUDA);
  const auto loss = cross_entropy_sum(logits, at::tensor({1, 10, 2}, at::kLong).to(at::kCUDA));
  EXPECT_TRUE(std::isnan(loss.item<float>()));
}

TEST_P(CudaKernels, UpdatesEqualThoseOfTheCpu) {
  for (const int64_t size : {1, 300, 5000}) {
    const auto start = at::randn({size + 1});
    const auto make = [&](const at::Device& device) {
      const auto part = [&](const at::Tensor& x) { return x.to(device).clone().slice(0, 1); };
      return UpdateSlice{.master = part(start),
                         .compute = part(start.to(at::kBFloat16)),
                         .gradient = part(at::zeros({size + 1}, GetParam())),
                         .first = part(at::zeros({size + 1})),
                         .second = part(at::zeros({size + 1}))};
    };
    const auto own = make(at::kCPU);
    const auto other = make(at::kCUDA);
    for (int64_t step = 1; step <= 4; ++step) {
      const auto gradient = at::randn({size}, GetParam());
      own.gradient.copy_(gradient);
      other.gradient.copy_(gradient);
      const AdamwRule adamw_rule{.lr = 0.01, .weight_decay = 0.1, .step = step};
      const SgdRule sgd_rule{
          .lr = 0.01, .momentum = 0.9, .weight_decay = 0.1, .is_first_step = step == 3};
      if (step < 3) {
        adamw(own, adamw_rule, 0.5);
        adamw(other, adamw_rule, 0.5);
      } else {
        sgd(own, sgd_rule, 0.5);
        sgd(other, sgd_rule, 0.5);
      }
      const comparison::Tolerance tolerance{.absolute = 1e-6, .relative = 1e-6};
      comparison::expect_near(other.master.cpu(), own.master, tolerance, "master");
      comparison::expect_near(other.first.cpu(), own.first, tolerance, "first");
      comparison::expect_near(other.second.cpu(), own.second, tolerance, "second");
      EXPECT_TRUE(at::equal(other.compute.cpu(), other.master.cpu().to(at::kBFloat16)));
      EXPECT_EQ(other.gradient.abs().max().item<double>(), 0.0);
    }
  }
}

TEST_P(CudaKernels, GradientsAreAddedAndZeroed) {
  const auto sum = at::randn({1003});
  const auto x = at::randn({1003}).to(GetParam());
  const auto gpu_sum = sum.to(at::kCUDA);
  const auto gpu_x = x.to(at::kCUDA);
  accumulate_and_zero(gpu_sum, gpu_x);
  EXPECT_TRUE(at::equal(gpu_sum.cpu(), sum + x.to(at::kFloat)));
  EXPECT_EQ(gpu_x.abs().max().item<double>(), 0.0);
}

TEST_P(CudaKernels, ResultsAreReproducible) {
  const auto make = [](at::IntArrayRef sizes) { return at::randn(sizes); };
  const std::vector<at::Tensor> inputs{make({3000, 768}), make({3000, 768}), make({768}),
                                       make({768}), make({5003, 768}) / 20.0};
  const auto targets = at::randint(5003, {3000}, at::kLong).to(at::kCUDA);
  const auto run = [&] {
    return comparison::run(
        [&](const auto& in) {
          const auto on_gpu = moved(in);
          const auto y = add_dropout_norm(
              on_gpu[0], on_gpu[1],
              {.weight = on_gpu[2], .bias = on_gpu[3], .epsilon = kCudaEpsilon}, 0.1, kCudaKey);
          return linear_cross_entropy(y, on_gpu[4], {}, targets).cpu();
        },
        inputs, GetParam());
  };
  const auto first = run();
  const auto second = run();
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(at::equal(first[i], second[i])) << i;
  }
}

}  // namespace
}  // namespace weft::kernels
