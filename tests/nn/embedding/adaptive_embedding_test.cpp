// Adaptive embeddings, and an adaptive softmax that shares their weights, against the formulas of
// fairseq (AdaptiveInput, AdaptiveSoftmax, TiedHeadModule), written down again here.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/error.h"
#include "config/section.h"
#include "nn/embedding/token_embedding.h"
#include "nn/output/output_layer.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kAdaptiveDim = 8;
constexpr int64_t kWords = 20;
constexpr auto kClusters = "cutoffs: [3, 8], factor: 2";
const std::vector<int64_t> kBegins = {0, 3, 8, kWords};

/// Counts of which no two are the same.
std::vector<int64_t> distinct_counts() {
  std::vector<int64_t> counts;
  for (int64_t token = 0; token < kWords; ++token) {
    counts.push_back(token * 7 % kWords);
  }
  return counts;
}

std::shared_ptr<TokenEmbedding> adaptive_embedding(const std::string& keys = kClusters,
                                                   int64_t vocabulary = kWords) {
  auto section = config::Document::parse("{" + keys + "}", "embedding").root();
  auto result = token_embeddings()
                    .at("adaptive")
                    .read(section)({.vocabulary = vocabulary, .dim = kAdaptiveDim});
  section.reject_unread();
  return result;
}

std::shared_ptr<OutputLayer> adaptive_output(const std::shared_ptr<TokenEmbedding>& tied,
                                             const std::string& keys = kClusters,
                                             int64_t width = kAdaptiveDim) {
  auto section = config::Document::parse("{" + keys + "}", "output").root();
  return output_types()
      .at("adaptive")
      .read(section)({.width = width, .vocabulary = kWords, .tied = tied});
}

/// The tokens by falling count.
at::Tensor order_of(const std::vector<int64_t>& counts) {
  return at::tensor(by_frequency(counts), at::kLong);
}

at::Tensor parameter_of(const torch::nn::Module& module, const std::string& name) {
  const auto parameters = module.named_parameters();
  const auto* found = parameters.find(name);
  TORCH_CHECK(found != nullptr, "no parameter ", name);
  return *found;
}

at::Tensor words_of(const TokenEmbedding& embedding, std::size_t cluster) {
  return parameter_of(embedding, numbered("words", cluster));
}

at::Tensor projection_of(const TokenEmbedding& embedding, std::size_t cluster) {
  return parameter_of(embedding, numbered("projection", cluster) + ".weight");
}

/// Vectors of all tokens (V, D): Linear(Embedding(rank)) of the cluster of each.
at::Tensor plain_table(const TokenEmbedding& embedding) {
  std::vector<at::Tensor> by_rank;
  for (std::size_t k = 0; k + 1 < kBegins.size(); ++k) {
    by_rank.push_back(at::matmul(words_of(embedding, k), projection_of(embedding, k).t()));
  }
  return at::zeros({kWords, kAdaptiveDim})
      .index_copy(0, order_of(distinct_counts()), at::cat(by_rank));
}

/// ln p of all tokens (M, V).
at::Tensor plain_log_probabilities(const TokenEmbedding& embedding,
                                   const OutputLayer& output,
                                   const at::Tensor& features,
                                   bool ties_projections) {
  const auto head =
      at::log_softmax(at::cat({at::matmul(features, words_of(embedding, 0).t()),
                               at::matmul(features, parameter_of(output, "clusters").t())},
                              1),
                      1);
  std::vector<at::Tensor> by_rank = {head.narrow(1, 0, kBegins[1])};
  for (std::size_t k = 1; k + 1 < kBegins.size(); ++k) {
    const auto projection = ties_projections
                                ? projection_of(embedding, k)
                                : parameter_of(output, "down_" + std::to_string(k) + ".weight").t();
    const auto tail = at::matmul(at::matmul(features, projection), words_of(embedding, k).t());
    by_rank.push_back(at::log_softmax(tail, 1) +
                      head.narrow(1, kBegins[1] + static_cast<int64_t>(k) - 1, 1));
  }
  return at::zeros({features.size(0), kWords})
      .index_copy(1, order_of(distinct_counts()), at::cat(by_rank, 1));
}

struct TiedParts {
  explicit TiedParts(bool ties_projections) {
    embedding = adaptive_embedding();
    embedding->fit({.counts = distinct_counts()});
    output = adaptive_output(
        embedding, std::string(kClusters) + (ties_projections ? ", tie_projections: true" : ""));
    test::fill_parameters(*embedding, 0.7);
    test::fill_parameters(*output, 0.6);
  }

  std::vector<at::Tensor> parameters() const {
    auto result = embedding->parameters();
    const auto own = output->parameters();
    result.insert(result.end(), own.begin(), own.end());
    return result;
  }

  std::shared_ptr<TokenEmbedding> embedding;
  std::shared_ptr<OutputLayer> output;
};

at::Tensor random_features(int64_t rows) {
  return (at::arange(rows * kAdaptiveDim, at::kFloat).view({rows, kAdaptiveDim}) * 1.3)
      .sin()
      .set_requires_grad(true);
}

void expect_same_gradients(const at::Tensor& found,
                           const at::Tensor& expected,
                           const std::vector<at::Tensor>& of) {
  const auto a = torch::autograd::grad({found}, of);
  const auto b = torch::autograd::grad({expected}, of);
  for (std::size_t i = 0; i < of.size(); ++i) {
    EXPECT_GT(b[i].abs().max().item<double>(), 0) << i;
    EXPECT_TRUE(test::near(a[i], b[i], 1e-4)) << i;
  }
}

TEST(AdaptiveEmbedding, EqualsThePlainForm) {
  const auto embedding = adaptive_embedding();
  embedding->fit({.counts = distinct_counts()});
  test::fill_parameters(*embedding, 0.7);
  EXPECT_EQ(words_of(*embedding, 0).sizes(), at::IntArrayRef({3, 8}));
  EXPECT_EQ(words_of(*embedding, 1).sizes(), at::IntArrayRef({5, 4}));
  EXPECT_EQ(words_of(*embedding, 2).sizes(), at::IntArrayRef({12, 2}));
  const auto ids = at::tensor({4, 4, 0, 9, 17, 1, 19, 6, 2, 11, 4}, at::kLong);
  const auto found = embedding->forward(ids);
  const auto expected = plain_table(*embedding).index_select(0, ids);
  EXPECT_TRUE(test::near(found, expected, 1e-6));
  const auto weights = random_features(ids.numel()).detach();
  expect_same_gradients((found * weights).sum(), (expected * weights).sum(),
                        embedding->parameters());
}

class TiedAdaptiveOutput : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Projections, TiedAdaptiveOutput, testing::Bool());

TEST_P(TiedAdaptiveOutput, EqualsThePlainForm) {
  const TiedParts parts(GetParam());
  const auto features = random_features(kWords);
  const auto expected =
      plain_log_probabilities(*parts.embedding, *parts.output, features, GetParam());
  const auto logits = parts.output->logits({features}, {});
  EXPECT_TRUE(test::near(logits, expected, 1e-5));
  EXPECT_TRUE(test::near(logits.exp().sum(1), at::ones({kWords}), 1e-5));
  const auto targets = at::arange(kWords);
  const auto loss = parts.output->loss({features}, targets, {}, test::context_of({0, kWords}));
  const auto expected_loss = -expected.gather(1, targets.unsqueeze(1)).sum();
  EXPECT_TRUE(test::near(loss, expected_loss, 1e-4));
  auto of = parts.output->parameters();
  of.push_back(features);
  for (std::size_t k = 0; k < 3; ++k) {
    of.push_back(words_of(*parts.embedding, k));
    if (GetParam() && k > 0) {
      of.push_back(projection_of(*parts.embedding, k));
    }
  }
  expect_same_gradients(loss, expected_loss, of);
}

TEST_P(TiedAdaptiveOutput, GradientIsTheSumOfThoseOfBothUses) {
  const TiedParts parts(GetParam());
  const TiedParts others(GetParam());  // their embedding is only read, here only predicted
  const auto ids = at::arange(kWords);
  const auto targets = at::roll(ids, 3);
  const auto loss_of = [&](const TiedParts& reads, const TiedParts& predicts) {
    return predicts.output->loss({reads.embedding->forward(ids).tanh()}, targets, {},
                                 test::context_of({0, kWords}));
  };
  const auto tables = parts.embedding->parameters();
  const auto tied = torch::autograd::grad({loss_of(parts, parts)}, tables);
  auto each = tables;
  const auto read_only = others.embedding->parameters();
  each.insert(each.end(), read_only.begin(), read_only.end());
  const auto apart = torch::autograd::grad({loss_of(others, parts)}, each, {}, {}, false, true);
  int64_t unshared = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto& predicted = apart[i];  // undefined: a projection that is not shared
    const auto& read = apart[i + tables.size()];
    unshared += predicted.defined() ? 0 : 1;
    EXPECT_TRUE(test::near(tied[i], predicted.defined() ? read + predicted : read, 1e-4)) << i;
  }
  EXPECT_EQ(unshared, GetParam() ? 1 : 3);
}

TEST_P(TiedAdaptiveOutput, HasNoMatricesOfTheEmbeddings) {
  const TiedParts parts(GetParam());
  int64_t own = 0;
  for (const auto& parameter : parts.output->parameters()) {
    own += parameter.numel();
  }
  EXPECT_EQ(own, 2 * kAdaptiveDim + (GetParam() ? 0 : kAdaptiveDim * (4 + 2)));
  EXPECT_TRUE(parts.output->buffers().empty());
  EXPECT_FALSE(parts.output->needs_statistics());
}

TEST(AdaptiveTie, FollowsTheOrderOfTheEmbeddings) {
  const TiedParts parts(false);
  const auto features = random_features(2).detach();
  const auto before = parts.output->logits({features}, {});
  std::vector<int64_t> counts(kWords, 0);
  counts[5] = 9;
  parts.embedding->fit({.counts = counts});
  const auto after = parts.output->logits({features}, {});
  // The rows of the first cluster are now those of token 5, then of tokens 0 and 1.
  EXPECT_TRUE(
      test::near(after.select(1, 5), before.select(1, by_frequency(distinct_counts())[0]), 1e-6));
}

TEST(AdaptiveTie, WithoutClustersIsATiedSoftmax) {
  const auto embedding = adaptive_embedding("cutoffs: []");
  test::fill_parameters(*embedding, 0.7);
  const auto output = adaptive_output(embedding, "cutoffs: []");
  EXPECT_TRUE(output->parameters().empty());
  const auto features = random_features(4).detach();
  EXPECT_TRUE(test::near(output->logits({features}, {}),
                         at::log_softmax(at::matmul(features, words_of(*embedding, 0).t()), 1),
                         1e-5));
}

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AdaptiveTie, NeedsTheSameShapes) {
  const auto embedding = adaptive_embedding();
  EXPECT_NE(error_of([&] {
              adaptive_output(embedding, kClusters, 6);
            }).find("the features have 6 dimensions, must be 8"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              adaptive_output(embedding, "cutoffs: [3, 9], factor: 2");
            }).find("model.output.cutoffs: must be those of model.embedding"),
            std::string::npos);
  const std::string same = R"({"cutoffs": [3, 8], "factor": 2})";
  const auto error = [&](const std::string& keys, const std::string* other) {
    return output_types().at("adaptive").tie_error(keys, other);
  };
  EXPECT_EQ(error(same, &same), "");
  EXPECT_EQ(error(same, nullptr), "");
  for (const std::string keys :
       {R"({"cutoffs": [3, 8], "factor": 4})", R"({"cutoffs": [3], "factor": 2})"}) {
    EXPECT_NE(error(keys, &same).find("must be the same"), std::string::npos) << keys;
  }
  const std::string ties = R"({"cutoffs": [3, 8], "factor": 2, "tie_projections": true})";
  EXPECT_EQ(error(ties, &same), "");
  EXPECT_NE(error(ties, nullptr).find("output.tie_projections has no effect"), std::string::npos);
}

TEST(AdaptiveEmbedding, ADamagedOrderIsRefused) {
  const auto embedding = adaptive_embedding();
  embedding->named_buffers()["tokens"].fill_(1);
  EXPECT_NE(error_of([&] {
              embedding->finish_loading();
            }).find("the token order of the adaptive embedding is damaged"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              adaptive_embedding("cutoffs: [3, 20]");
            }).find("model.embedding.cutoffs: 20, must be below 20"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::nn
