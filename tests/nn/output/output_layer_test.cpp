#include "nn/output/output_layer.h"

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/nn/modules/adaptive.h>

#include "base/error.h"
#include "config/section.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kWidth = 6;
constexpr int64_t kTokens = 11;

std::shared_ptr<OutputLayer> output_layer(const std::string& type,
                                          const std::string& yaml = "{}",
                                          int64_t vocabulary = kTokens) {
  auto section = config::Document::parse(yaml, "output").root();
  const auto make = output_types().at(type).read(section);
  section.reject_unread();
  auto layer = make({.width = kWidth, .vocabulary = vocabulary});
  test::fill_parameters(*layer, 0.7);
  return layer;
}

at::Tensor output_features(int64_t rows, bool requires_grad = false) {
  return (at::arange(rows * kWidth, at::kFloat).view({rows, kWidth}) * 1.3)
      .sin()
      .set_requires_grad(requires_grad);
}

OutputMatrix output_matrix(int64_t vocabulary = kTokens) {
  return {.weight = (at::arange(vocabulary * kWidth, at::kFloat).view({vocabulary, kWidth}) * 0.9)
                        .cos()
                        .set_requires_grad(true),
          .bias = (at::arange(vocabulary, at::kFloat) * 2.1).sin().set_requires_grad(true)};
}

at::Tensor all_targets(int64_t vocabulary = kTokens) { return at::arange(vocabulary); }

/// Sum of -ln p of the targets.
at::Tensor full_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return -at::log_softmax(logits, 1).gather(1, targets.unsqueeze(1)).sum();
}

struct Normalised {
  const char* type;
  const char* yaml;
};

void PrintTo(const Normalised& value, std::ostream* out) {
  *out << value.type << " " << value.yaml;
}

class NormalisedOutput : public testing::TestWithParam<Normalised> {};

INSTANTIATE_TEST_SUITE_P(Types,
                         NormalisedOutput,
                         testing::Values(Normalised{"hierarchical", "{}"},
                                         Normalised{"hierarchical", "{tree: balanced}"},
                                         Normalised{"class_based", "{}"},
                                         Normalised{"class_based", "{classes: 1}"},
                                         Normalised{"class_based", "{classes: 11}"},
                                         Normalised{"adaptive", "{cutoffs: []}"},
                                         Normalised{"adaptive", "{cutoffs: [3], factor: 2}"},
                                         Normalised{"adaptive", "{cutoffs: [1, 4, 9]}"}));

TokenStatistics skewed_counts() {
  return {.counts = {3, 100, 0, 7, 7, 50, 1, 2, 900, 4, 0},
          .token = [](int64_t id) { return std::string(1, static_cast<char>('a' + id)); }};
}

TEST_P(NormalisedOutput, ProbabilitiesAddUpToOneForAnyWeights) {
  const auto layer = output_layer(GetParam().type, GetParam().yaml);
  for (const bool is_fitted : {false, true}) {
    if (is_fitted) {
      layer->fit(skewed_counts());
    }
    const auto logits = layer->logits(output_features(5), {});
    EXPECT_TRUE(test::near(logits.logsumexp(1), at::zeros({5}), 1e-5)) << logits.logsumexp(1);
  }
}

TEST_P(NormalisedOutput, LossAndItsGradientAreThoseOfTheLogits) {
  const auto layer = output_layer(GetParam().type, GetParam().yaml);
  layer->fit(skewed_counts());
  const auto targets = all_targets();
  const auto gradients_of = [&](const auto& loss_of) {
    test::clear_gradients(*layer);
    const auto features = output_features(kTokens, /*requires_grad=*/true);
    const auto loss = loss_of(features);
    loss.backward();
    std::vector<at::Tensor> result = {loss.detach(), features.grad()};
    for (const auto& parameter : layer->parameters()) {
      result.push_back(parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
    }
    return result;
  };
  const auto found = gradients_of(
      [&](const at::Tensor& features) { return layer->loss(features, targets, {}, {}); });
  const auto expected = gradients_of(
      [&](const at::Tensor& features) { return full_loss(layer->logits(features, {}), targets); });
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], expected[i], 1e-4)) << i << "\n" << found[i] << expected[i];
  }
}

TEST_P(NormalisedOutput, DamagedBuffersAreRefused) {
  for (const int64_t value : {int64_t{-40}, int64_t{0}, int64_t{1} << 40}) {
    const auto layer = output_layer(GetParam().type, GetParam().yaml);
    for (const auto& buffer : layer->named_buffers()) {
      buffer.value().fill_(value);
    }
    EXPECT_THROW(layer->finish_loading(), UserError) << value;
  }
}

TEST(HierarchicalOutput, IsALogisticRegressionForTwoTokens) {
  const auto layer = output_layer("hierarchical", "{}", 2);
  const auto features = output_features(4);
  const auto parameters = layer->named_parameters();
  const auto score =
      at::matmul(features, parameters["weight"].squeeze(0)) + parameters["bias"];  // (4)
  const auto expected = at::stack({at::log_sigmoid(score), at::log_sigmoid(-score)}, 1);
  EXPECT_TRUE(test::near(layer->logits(features, {}), expected, 1e-6));
}

/// With all scores zero, every decision has probability 1/2.
std::vector<double> depths(const std::string& yaml, std::vector<int64_t> counts) {
  const auto layer = output_layer("hierarchical", yaml, static_cast<int64_t>(counts.size()));
  test::fill_parameters(*layer, 0);
  if (layer->needs_statistics()) {
    layer->fit({.counts = std::move(counts)});
  }
  const auto logits = layer->logits(output_features(1), {}).squeeze(0) / -std::log(2.0);
  return {logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel()};
}

TEST(HierarchicalOutput, HuffmanCodesAreShortForFrequentTokens) {
  const auto near = [](const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
    }
  };
  near(depths("{}", {1, 8, 2, 4, 1}), {4, 1, 3, 2, 4});
  near(depths("{}", {1, 1, 1, 1}), {2, 2, 2, 2});
  near(depths("{}", {0, 0, 0, 0}), {2, 2, 2, 2});
  near(depths("{tree: balanced}", {1, 8, 2, 4, 1}), {3, 3, 2, 2, 2});
}

TEST(ClassOutput, IsTheFullSoftmaxWithOneClassPerToken) {
  const auto layer = output_layer("class_based", "{classes: 11}");
  layer->fit(skewed_counts());
  const auto parameters = layer->named_parameters();
  const auto features = output_features(3);
  const auto scores =
      at::matmul(features, parameters["class_weight"].t()) + parameters["class_bias"];
  const auto order = by_frequency(skewed_counts().counts);
  auto expected = at::empty({3, kTokens});
  for (int64_t rank = 0; rank < kTokens; ++rank) {
    expected.select(1, order[static_cast<std::size_t>(rank)])
        .copy_(at::log_softmax(scores, 1).select(1, rank));
  }
  EXPECT_TRUE(test::near(layer->logits(features, {}), expected, 1e-5));
}

TEST(ClassOutput, FrequentTokensAreInSmallClassesAndNoneIsEmpty) {
  const auto layer = output_layer("class_based", "{classes: 3}");
  layer->fit({.counts = {10000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
  const auto sizes = layer->named_buffers()["sizes"];
  EXPECT_EQ(sizes[0].item<int64_t>(), 1);
  EXPECT_EQ(sizes.sum().item<int64_t>(), kTokens);
  EXPECT_GT(sizes.min().item<int64_t>(), 0);
}

TEST(ClassOutput, ReadsClassesFromAFile) {
  const test::Folder folder;
  const auto path = folder.write("classes.txt", "a noun\nb verb\n\nc\tnoun\nz other\n");
  const auto layer = output_layer("class_based", "{classes: 3, class_file: " + path + "}");
  layer->fit(skewed_counts());
  const auto tokens = layer->named_buffers()["tokens"];
  EXPECT_TRUE(at::equal(tokens, at::tensor({0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10}, at::kLong)))
      << tokens;  // a and c, b, all others
  EXPECT_TRUE(at::equal(layer->named_buffers()["sizes"], at::tensor({2, 1, 8}, at::kLong)));
  const auto wrong = output_layer("class_based", "{classes: 4, class_file: " + path + "}");
  try {
    wrong->fit(skewed_counts());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("have 3 classes, one of them for all that are not"),
              std::string::npos)
        << error.what();
  }
}

TEST(AdaptiveOutput, EqualsLibTorchs) {
  torch::nn::AdaptiveLogSoftmaxWithLoss reference(
      torch::nn::AdaptiveLogSoftmaxWithLossOptions(kWidth, kTokens, {3, 7}).div_value(2));
  const auto layer = output_layer("adaptive", "{cutoffs: [3, 7], factor: 2}");
  const auto own = layer->named_parameters();
  const std::vector<std::pair<const char*, const char*>> names = {
      {"head.weight", "head.weight"},     {"tail.0.0.weight", "down_1.weight"},
      {"tail.0.1.weight", "up_1.weight"}, {"tail.1.0.weight", "down_2.weight"},
      {"tail.1.1.weight", "up_2.weight"},
  };
  const auto theirs = reference->named_parameters();
  ASSERT_EQ(theirs.size(), names.size());
  for (const auto& [theirs_name, own_name] : names) {
    const at::NoGradGuard no_grad;
    ASSERT_EQ(theirs[theirs_name].sizes(), own[own_name].sizes()) << own_name;
    theirs[theirs_name].copy_(own[own_name]);
  }
  const auto targets = all_targets();
  const auto features = output_features(kTokens, /*requires_grad=*/true);
  EXPECT_TRUE(test::near(layer->logits(features, {}), reference->log_prob(features), 1e-6));
  const auto loss = layer->loss(features, targets, {}, {}) / kTokens;
  loss.backward();
  const auto gradient = features.grad().clone();
  features.mutable_grad().reset();
  const auto expected = -reference->forward(features, targets).output.mean();
  expected.backward();
  EXPECT_TRUE(test::near(loss, expected, 1e-6));
  EXPECT_TRUE(test::near(gradient, features.grad(), 1e-6));
  for (const auto& [theirs_name, own_name] : names) {
    EXPECT_TRUE(test::near(own[own_name].grad(), theirs[theirs_name].grad(), 1e-6)) << own_name;
  }
}

TEST(AdaptiveOutput, PutsTheMostFrequentTokensInTheHead) {
  const auto layer = output_layer("adaptive", "{cutoffs: [3]}");
  layer->fit(skewed_counts());
  const auto tokens = layer->named_buffers()["tokens"];
  EXPECT_TRUE(at::equal(tokens.slice(0, 0, 3), at::tensor({8, 1, 5}, at::kLong))) << tokens;
}

TEST(SampledOutput, IsTheFullLossWhenEveryTokenIsDrawn) {
  const auto layer = output_layer("sampled", "{samples: 5000, noise_power: 0}");
  const auto targets = all_targets();
  const auto features = output_features(kTokens, /*requires_grad=*/true);
  const auto matrix = output_matrix();
  const auto loss = layer->loss(features, targets, matrix, {});
  loss.backward();
  const auto gradient = matrix.weight.grad().clone();
  matrix.weight.mutable_grad().reset();
  const auto expected = full_loss(layer->logits(features, matrix), targets);
  expected.backward();
  EXPECT_TRUE(test::near(loss, expected, 1e-4));
  EXPECT_TRUE(test::near(gradient, matrix.weight.grad(), 1e-4));
}

TEST(SampledOutput, DrawsByTheCountsAndTheStep) {
  const auto layer = output_layer("sampled", "{samples: 64}");
  layer->fit({.counts = {0, 0, 0, 1'000'000'000, 0, 0, 0, 0, 0, 0, 0}});
  const auto features = output_features(2);
  const auto targets = at::tensor({1, 2}, at::kLong);
  const auto matrix = output_matrix();
  // Only token 3 is drawn, whose probability to be drawn is 1; that of the targets is 64e-9.
  const auto scores = layer->logits(features, matrix);
  const double rare = std::log(64e-9);
  double expected = 0;
  for (int64_t row = 0; row < 2; ++row) {
    const auto target = scores[row][targets[row].item<int64_t>()].item<double>() - rare;
    expected += std::log1p(std::exp(scores[row][3].item<double>() - target));
  }
  EXPECT_NEAR(layer->loss(features, targets, matrix, {}).item<double>(), expected, 1e-5);

  const auto uniform = output_layer("sampled", "{samples: 3}");
  ForwardContext context;
  context.seed = 7;
  const auto at_step = [&](uint64_t step) {
    context.step = step;
    return uniform->loss(features, targets, matrix, context).item<double>();
  };
  EXPECT_EQ(at_step(1), at_step(1));
  EXPECT_NE(at_step(1), at_step(2));
}

TEST(SampledOutput, NceIsALogisticRegressionAgainstNoise) {
  // V = 2, k = 1, all scores 0: s - ln V - ln(k q) = 0 for both tokens.
  const auto layer = output_layer("sampled", "{loss: nce, samples: 1}", 2);
  const OutputMatrix zero{.weight = at::zeros({2, kWidth}), .bias = {}};
  const auto loss = layer->loss(output_features(3), at::tensor({0, 1, 1}, at::kLong), zero, {});
  EXPECT_NEAR(loss.item<double>(), 3 * 2 * std::log(2.0), 1e-5);
}

TEST(SampledOutput, SumsOverMicroBatches) {
  for (const auto* yaml : {"{samples: 5}", "{samples: 5, loss: nce}"}) {
    const auto layer = output_layer("sampled", yaml);
    const auto matrix = output_matrix();
    const auto features = output_features(kTokens);
    const auto targets = all_targets();
    const auto part = [&](int64_t begin, int64_t end) {
      return layer->loss(features.slice(0, begin, end), targets.slice(0, begin, end), matrix, {});
    };
    EXPECT_TRUE(test::near(part(0, 4) + part(4, kTokens), part(0, kTokens), 1e-4)) << yaml;
  }
}

TEST(OutputLayer, BuffersKeepTheirTypeInHalfPrecision) {
  for (const auto& definition : output_types().all()) {
    const auto layer = output_layer(std::string(definition.name),
                                    definition.name == "adaptive" ? "{cutoffs: [3]}" : "{}");
    std::vector<at::ScalarType> before;
    for (const auto& buffer : layer->buffers()) {
      before.push_back(buffer.scalar_type());
    }
    layer->to(at::kBFloat16, /*non_blocking=*/false);
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(layer->buffers()[i].scalar_type(), before[i]) << definition.name;
    }
    for (const auto& parameter : layer->parameters()) {
      EXPECT_EQ(parameter.scalar_type(), at::kBFloat16) << definition.name;
    }
  }
}

}  // namespace
}  // namespace weft::nn
