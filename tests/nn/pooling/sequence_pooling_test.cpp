#include "nn/pooling/sequence_pooling.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

const std::vector<int64_t> kPoolingOffsets = {0, 3, 4, 9};

std::shared_ptr<SequencePooling> pooling_of(const std::string& type) {
  auto section = config::Document::parse("{}", "pooling").root();
  auto pooling = sequence_poolings().at(type).read(section)({.dim = 4, .heads = 2});
  test::fill_parameters(*pooling);
  return pooling;
}

at::Tensor pooling_states() { return (at::arange(9 * 4, at::kFloat).view({9, 4}) * 1.7).sin(); }

at::Tensor by_sequence(const std::function<at::Tensor(const at::Tensor&)>& pool) {
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i + 1 < kPoolingOffsets.size(); ++i) {
    rows.push_back(pool(pooling_states().slice(0, kPoolingOffsets[i], kPoolingOffsets[i + 1])));
  }
  return at::stack(rows);
}

at::Tensor pooled_by(const std::string& type) {
  return pooling_of(type)->forward(pooling_states(), test::context_of(kPoolingOffsets));
}

TEST(SequencePooling, TakesATokenTheMeanOrTheMaximumOfEachSequence) {
  EXPECT_TRUE(test::near(pooled_by("cls"), by_sequence([](const auto& x) { return x[0]; })));
  EXPECT_TRUE(test::near(pooled_by("last"), by_sequence([](const auto& x) { return x[-1]; })));
  EXPECT_TRUE(test::near(pooled_by("mean"), by_sequence([](const auto& x) { return x.mean(0); })));
  EXPECT_TRUE(test::near(pooled_by("max"), by_sequence([](const auto& x) { return x.amax(0); })));
}

TEST(SequencePooling, AttentionIsAMeanWithLearnedWeights) {
  const auto pooling = pooling_of("attention");
  const auto p = pooling->named_parameters();
  const auto expected = by_sequence([&](const at::Tensor& x) {
    const auto scores = at::linear(at::tanh(at::linear(x, p["dense.weight"], p["dense.bias"])),
                                   p["query.weight"]);  // (L, 1)
    return (at::softmax(scores, 0) * x).sum(0);
  });
  EXPECT_TRUE(test::near(pooled_by("attention"), expected));
  {
    const at::NoGradGuard guard;
    p["query.weight"].zero_();
  }
  EXPECT_TRUE(test::near(pooling->forward(pooling_states(), test::context_of(kPoolingOffsets)),
                         pooled_by("mean")));
}

TEST(SequencePooling, AttentionHasTheGradientOfTheSoftmax) {
  const auto pooling = pooling_of("attention");
  const auto p = pooling->named_parameters();
  const auto x = pooling_states().slice(0, 0, 3);
  const auto weights = at::arange(4, at::kFloat);
  const auto gradient_of = [&](const at::Tensor& pooled) {
    test::clear_gradients(*pooling);
    at::dot(pooled.flatten(), weights).backward();
    return p["dense.weight"].grad().clone();
  };
  const auto found = gradient_of(pooling->forward(x, test::context_of({0, 3})));
  const auto scores =
      at::linear(at::tanh(at::linear(x, p["dense.weight"], p["dense.bias"])), p["query.weight"]);
  EXPECT_TRUE(test::near(found, gradient_of((at::softmax(scores, 0) * x).sum(0)), 1e-6));
}

/// arXiv:1810.00825, equations 6, 7 and 11, with h = LN(s + Multihead(s, rFF(X), rFF(X))).
TEST(SequencePooling, MultiheadAttentionReadsWithALearnedVector) {
  const auto pooling = pooling_of("multihead_attention");
  const auto p = pooling->named_parameters();
  const auto linear = [&](const at::Tensor& x, const std::string& name) {
    return at::linear(x, p[name + ".weight"], p[name + ".bias"]);
  };
  const auto norm = [&](const at::Tensor& x, const std::string& name) {
    return at::layer_norm(x, {4}, p[name + ".weight"], p[name + ".bias"], 1e-5);
  };
  const auto by_head = [](const at::Tensor& x) {  // (L, D) -> (H, L, K)
    return x.view({x.size(0), 2, 2}).transpose(0, 1);
  };
  const auto expected = by_sequence([&](const at::Tensor& x) {
    const auto key_value = linear(at::relu(linear(x, "inner")), "key_value");
    const auto query = by_head(linear(p["seed"], "query"));
    const auto key = by_head(key_value.slice(1, 0, 4));
    const auto value = by_head(key_value.slice(1, 4, 8));
    const auto weights = at::softmax(at::matmul(query, key.transpose(1, 2)) / std::sqrt(2.0), -1);
    const auto mixed = at::matmul(weights, value).transpose(0, 1).reshape({1, 4});
    const auto read = norm(p["seed"] + linear(mixed, "output"), "norm");
    return norm(read + at::relu(linear(read, "feed_forward")), "feed_forward_norm").squeeze(0);
  });
  EXPECT_TRUE(test::near(pooled_by("multihead_attention"), expected));
}

}  // namespace
}  // namespace weft::nn
