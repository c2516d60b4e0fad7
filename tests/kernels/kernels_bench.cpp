// Each fused operation against its LibTorch counterpart: forward and backward, at the
// sizes of bert-mini with 4,096 tokens.
//   build/kernels_bench [--benchmark_filter=Attention]
// The pair of lines of one name is to be compared within one run; WEFT_CPU_LEVEL chooses the level.
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/linear/linear.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"

namespace weft::kernels {
namespace {

using KernelsBenchInputs = std::vector<at::Tensor>;
using Operation = std::function<at::Tensor(const KernelsBenchInputs&)>;

constexpr int64_t kTokens = 4096;
constexpr int64_t kDim = 256;
constexpr int64_t kHeads = 4;
constexpr int64_t kLength = 128;
constexpr int64_t kWords = 8192;
constexpr double kP = 0.1;
constexpr RngKey kKernelsBenchKey{.seed = 1, .step = 1, .site = 1};

struct Pair {
  std::string name;
  KernelsBenchInputs inputs;
  Operation ours;
  Operation theirs;
};

void forward_and_backward(benchmark::State& state,
                          const Operation& operation,
                          const KernelsBenchInputs& given,
                          at::ScalarType type) {
  KernelsBenchInputs inputs;
  for (const auto& x : given) {
    inputs.push_back(x.is_floating_point() ? x.to(type).clone().requires_grad_(true) : x);
  }
  const auto gradient = at::ones_like(operation(inputs).detach()).mul_(0.5);
  for (auto step : state) {
    operation(inputs).backward(gradient);
    for (auto& x : inputs) {
      x.mutable_grad() = at::Tensor();
    }
  }
}

at::Tensor their_attention(const KernelsBenchInputs& in, double dropout) {
  const auto parts = in[0]
                         .view({kTokens / kLength, kLength, 3, kHeads, kDim / kHeads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  return at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, dropout)
      .transpose(1, 2)
      .reshape({kTokens, kDim});
}

Layout whole_sequences() {
  std::vector<int64_t> offsets;
  for (int64_t row = 0; row <= kTokens; row += kLength) {
    offsets.push_back(row);
  }
  return Layout::from_offsets(offsets, at::kCPU);
}

void add_attention(std::vector<Pair>& pairs) {
  for (const double p : {0.0, kP}) {
    const auto layout = whole_sequences();
    pairs.push_back({p > 0 ? "AttentionDropout" : "Attention",
                     {at::randn({kTokens, 3 * kDim})},
                     [=](const auto& in) {
                       return attention(in[0], layout, {.heads = kHeads, .dropout = p},
                                        kKernelsBenchKey);
                     },
                     [=](const auto& in) { return their_attention(in, p); }});
  }
}

void add_rows(std::vector<Pair>& pairs) {
  pairs.push_back({"Dropout",
                   {at::randn({kTokens, 4 * kDim})},
                   [](const auto& in) { return dropout(in[0], kP, kKernelsBenchKey); },
                   [](const auto& in) { return at::dropout(in[0], kP, true); }});
  pairs.push_back(
      {"AddDropoutNorm",
       {at::randn({kTokens, kDim}), at::randn({kTokens, kDim}), at::ones({kDim}), at::ones({kDim})},
       [](const auto& in) {
         return add_dropout_norm(in[0], in[1], {in[2], in[3], 1e-5}, kP, kKernelsBenchKey);
       },
       [](const auto& in) {
         return at::layer_norm(in[0] + at::dropout(in[1], kP, true), {kDim}, in[2], in[3], 1e-5);
       }});
  pairs.push_back(
      {"LayerNorm",
       {at::randn({kTokens, kDim}), at::ones({kDim}), at::ones({kDim})},
       [](const auto& in) { return layer_norm(in[0], in[1], in[2], 1e-5); },
       [](const auto& in) { return at::layer_norm(in[0], {kDim}, in[1], in[2], 1e-5); }});
  pairs.push_back({"Gelu",
                   {at::randn({kTokens, 4 * kDim})},
                   [](const auto& in) { return activate(in[0], Activation::kGelu); },
                   [](const auto& in) { return at::gelu(in[0]); }});
}

void add_products(std::vector<Pair>& pairs) {
  pairs.push_back({"Linear",
                   {at::randn({kTokens, kDim}), at::randn({4 * kDim, kDim}), at::randn({4 * kDim})},
                   [](const auto& in) { return kernels::linear(in[0], in[1], in[2]); },
                   [](const auto& in) { return at::linear(in[0], in[1], in[2]); }});
  const auto targets = at::randint(kWords, {kTokens * 15 / 100}, at::kLong);
  pairs.push_back(
      {"LinearCrossEntropy",
       {at::randn({targets.size(0), kDim}), at::randn({kWords, kDim}), at::randn({kWords})},
       [=](const auto& in) { return linear_cross_entropy(in[0], in[1], in[2], targets); },
       [=](const auto& in) {
         return at::cross_entropy_loss(at::linear(in[0], in[1], in[2]).to(at::kFloat), targets, {},
                                       at::Reduction::Sum);
       }});
  const auto ids = at::randint(kWords, {kTokens}, at::kLong);
  const auto positions = at::arange(kTokens).remainder(kLength);
  const auto types = at::zeros({kTokens}, at::kLong);
  pairs.push_back(
      {"EmbeddingSum",
       {at::randn({kWords, kDim}), at::randn({512, kDim}), at::randn({2, kDim})},
       [=](const auto& in) { return embedding_sum(in[0], ids, in[1], positions, in[2], types); },
       [=](const auto& in) {
         return at::embedding(in[0], ids) + at::embedding(in[1], positions) +
                at::embedding(in[2], types);
       }});
}

UpdateSlice kernels_bench_slice_of(int64_t size, at::ScalarType type) {
  return {.master = at::randn({size}),
          .compute = type == at::kBFloat16 ? at::zeros({size}, at::kBFloat16) : at::Tensor(),
          .gradient = at::randn({size}).to(type),
          .first = at::zeros({size}),
          .second = at::zeros({size})};
}

void our_adamw(benchmark::State& state, at::ScalarType type) {
  const auto slice = kernels_bench_slice_of(kWords * 1024, type);
  for (auto step : state) {
    adamw(slice, {.lr = 1e-4, .weight_decay = 0.01, .step = 1}, 0.5);
  }
}

// Theirs takes an fp32 gradient only: in bf16 training it is cast before and the weights are cast
// back after.
void their_adamw(benchmark::State& state, at::ScalarType type) {
  const auto slice = kernels_bench_slice_of(kWords * 1024, type);
  const auto step_count = at::ones({});
  for (auto step : state) {
    at::_fused_adamw_({slice.master}, {slice.gradient.to(at::kFloat)}, {slice.first},
                      {slice.second}, {}, {step_count}, 1e-4, 0.9, 0.999, 0.01, 1e-8, false, false);
    if (slice.compute.defined()) {
      slice.compute.copy_(slice.master);
    }
  }
}

void register_all() {
  std::vector<Pair> pairs;
  add_attention(pairs);
  add_rows(pairs);
  add_products(pairs);
  for (const auto type : {at::kBFloat16, at::kFloat}) {
    const std::string suffix = type == at::kFloat ? "/fp32" : "/bf16";
    const auto add = [&](const std::string& name, const auto& body) {
      benchmark::RegisterBenchmark(name.c_str(), body)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    };
    for (const auto& pair : pairs) {
      add(pair.name + suffix + "/weft", [=](benchmark::State& state) {
        forward_and_backward(state, pair.ours, pair.inputs, type);
      });
      add(pair.name + suffix + "/libtorch", [=](benchmark::State& state) {
        forward_and_backward(state, pair.theirs, pair.inputs, type);
      });
    }
    add("Adamw" + suffix + "/weft", [=](benchmark::State& state) { our_adamw(state, type); });
    add("Adamw" + suffix + "/libtorch", [=](benchmark::State& state) { their_adamw(state, type); });
  }
}

}  // namespace
}  // namespace weft::kernels

int main(int count, char** arguments) {
  weft::kernels::register_all();
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
