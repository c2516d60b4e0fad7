#include <cmath>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "batches.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "models/generator.h"
#include "models/weights/weight_map.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/parity.h"
#include "support/tensor_file.h"

namespace weft::objectives {
namespace {

enum RunningSum {
  kGeneratorLoss,
  kMasked,
  kGeneratorCorrect,
  kDiscriminatorLoss,
  kTokens,
  kReplaced,
  kPredicted,
  kTruePositives
};

models::ModelOptions discriminator_options() {
  auto options = test::tiny_model(models::Head::kReplacedToken);
  options.family = models::family_named("electra");
  options.embedding_size = 8;
  options.dropout = options.attention_dropout = 0;
  return options;
}

ReplacedTokenOptions objective_options() { return {.generator = {.size_ratio = 0.5}}; }

std::shared_ptr<models::Model> pair_of(models::ModelOptions options = discriminator_options()) {
  auto model = models::make_model(options, 5);
  models::make_generator(*model, generator_options(objective_options().generator, options), 5);
  return model;
}

struct Losses {
  at::Tensor generator, discriminator;
  std::vector<double> running_sums;
};

Losses replaced_token_losses(models::Model& model,
                             const data::Batch& batch,
                             nn::ForwardContext context = {}) {
  const auto objective = make_replaced_token(objective_options());
  context.layout = batching::to_device(batch, at::kCPU).context.layout;
  const auto found = objective->losses(model, batch, context);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found[2].numel(), objective->num_running_sums());
  const auto* const sums = found[2].const_data_ptr<double>();
  return {found[0], found[1], {sums, sums + found[2].numel()}};
}

nn::ForwardContext at_step(uint64_t step, uint64_t seed = 11) {
  nn::ForwardContext context;
  context.seed = seed;
  context.step = step;
  return context;
}

/// The generator's distribution depends only on its bias, not on the context.
void set_generator_bias(models::Model& model, const at::Tensor& bias) {
  const auto word = model.named_parameters()["generator.embeddings.word.weight"];
  test::set_parameters(model, {{"generator.embeddings.word.weight", at::zeros_like(word)},
                               {"generator.head.bias", bias}});
}

TEST(ReplacedToken, TheGeneratorEmbedsAsTheDiscriminator) {
  const auto model = pair_of();
  const auto parameters = model->named_parameters();
  int64_t shared = 0;
  for (const auto& parameter : parameters) {
    if (parameter.key().starts_with("embeddings.")) {
      EXPECT_TRUE(parameter.value().is_same(parameters["generator." + parameter.key()]));
      ++shared;
    }
  }
  EXPECT_EQ(shared, 5);  // words, positions, segments, scale and shift of the norm
  EXPECT_FALSE(parameters["layers.0.attention.qkv.weight"].is_same(
      parameters["generator.layers.0.attention.qkv.weight"]));
}

TEST(ReplacedToken, TheGeneratorIsAFractionOfTheDiscriminator) {
  models::ModelOptions base;
  base.family = models::family_named("electra");
  const auto third = generator_options({}, base);
  EXPECT_EQ(third.dim, 256);  // table 6 of arXiv:2003.10555
  EXPECT_EQ(third.heads, 4);
  EXPECT_EQ(third.width, 1024);
  EXPECT_EQ(third.layers, 12);
  EXPECT_EQ(third.embedding_size, 768);
  base.dim = 256;
  base.heads = 4;
  base.width = 1024;
  base.embedding_size = 128;
  const auto quarter = generator_options({}, base);
  EXPECT_EQ(quarter.dim, 64);
  EXPECT_EQ(quarter.heads, 1);
  EXPECT_EQ(quarter.width, 256);
  EXPECT_EQ(quarter.embedding_size, 128);
  const auto odd = generator_options({.size_ratio = 0.5, .heads = 3, .layers = 2}, base);
  EXPECT_EQ(odd.dim, 129);  // 128, brought to a multiple of the heads
  EXPECT_EQ(odd.width, 512);
  EXPECT_EQ(odd.layers, 2);
}

TEST(ReplacedToken, CountsWhatTheLossesStandOn) {
  const auto objective = make_replaced_token(objective_options());
  EXPECT_EQ(objective->terms(), (std::vector<std::string>{"generator", "discriminator"}));
  const auto batch = test::batch_of({1, 2, 3});
  EXPECT_EQ(objective->counts(batch), (std::vector<int64_t>{6, batch.tokens()}));
  const auto model = pair_of();
  const auto found = replaced_token_losses(*model, batch, at_step(3));
  EXPECT_NEAR(found.running_sums[kGeneratorLoss], found.generator.item<double>(), 1e-6);
  EXPECT_EQ(found.running_sums[kMasked], 6);
  EXPECT_NEAR(50 * found.running_sums[kDiscriminatorLoss], found.discriminator.item<double>(),
              1e-3);
  EXPECT_EQ(found.running_sums[kTokens], static_cast<double>(batch.tokens()));
  EXPECT_LE(found.running_sums[kTruePositives],
            std::min(found.running_sums[kPredicted], found.running_sums[kReplaced]));
  // 8 of 10 replaced ones are among the 9 that it took for such.
  const auto metrics = objective->metrics({12, 6, 3, 20, 100, 10, 9, 8});
  EXPECT_DOUBLE_EQ(metrics.at("generator_loss"), 2);
  EXPECT_DOUBLE_EQ(metrics.at("generator_accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("discriminator_loss"), 0.2);
  EXPECT_DOUBLE_EQ(metrics.at("discriminator_accuracy"), 0.97);
  EXPECT_DOUBLE_EQ(metrics.at("discriminator_precision"), 8.0 / 9);
  EXPECT_DOUBLE_EQ(metrics.at("discriminator_recall"), 0.8);
  EXPECT_DOUBLE_EQ(metrics.at("replaced_share"), 0.1);
}

TEST(ReplacedToken, CorrectlySampledTokenIsNotReplaced) {
  const auto model = pair_of();
  auto batch = test::batch_of({1, 2, 3});
  set_generator_bias(*model, at::zeros({30}).index_fill(0, at::tensor({7}, at::kLong), 99.0));
  batch.targets.assign(batch.targets.size(), 7);
  auto right = replaced_token_losses(*model, batch);
  EXPECT_EQ(right.running_sums[kReplaced], 0);
  EXPECT_EQ(right.running_sums[kGeneratorCorrect], 6);
  batch.targets.assign(batch.targets.size(), 8);
  auto wrong = replaced_token_losses(*model, batch);
  EXPECT_EQ(wrong.running_sums[kReplaced], 6);
  EXPECT_EQ(wrong.running_sums[kGeneratorCorrect], 0);
}

// The fraction of correctly sampled tokens is their probability under the generator.
TEST(ReplacedToken, DrawsFromTheGeneratorsDistribution) {
  const auto model = pair_of();
  std::vector<int64_t> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 1);
  auto batch = test::batch_of(numbers);
  set_generator_bias(*model, at::zeros({30}).index_fill(0, at::tensor({7}, at::kLong), 3.0));
  batch.targets.assign(batch.targets.size(), 7);
  const double right = std::exp(3.0) / (std::exp(3.0) + 29);
  double replaced = 0;
  constexpr int kSteps = 60;
  const at::NoGradGuard no_grad;
  for (uint64_t step = 0; step < kSteps; ++step) {
    replaced += replaced_token_losses(*model, batch, at_step(step)).running_sums[kReplaced];
  }
  const double draws = kSteps * static_cast<double>(batch.targets.size());
  const double deviation = std::sqrt(draws * right * (1 - right));
  EXPECT_NEAR(replaced, draws * (1 - right), 4 * deviation);
}

TEST(ReplacedToken, DrawsAreOfSeedAndStep) {
  const auto model = pair_of();
  const auto batch = test::batch_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const auto value = [&](const nn::ForwardContext& context) {
    return replaced_token_losses(*model, batch, context).discriminator.item<double>();
  };
  EXPECT_EQ(value(at_step(4)), value(at_step(4)));
  EXPECT_NE(value(at_step(4)), value(at_step(5)));
  EXPECT_NE(value(at_step(4)), value(at_step(4, 12)));
}

// With dropout: the parts use the same random numbers as the whole.
TEST(ReplacedToken, MicroBatchesAddUpToTheStep) {
  auto options = discriminator_options();
  options.dropout = options.attention_dropout = 0.2;
  const auto model = pair_of(options);
  auto context = at_step(6);
  context.is_training = true;
  const auto whole = replaced_token_losses(*model, test::batch_of({1, 2, 3, 4}), context);
  double generator = 0;
  double discriminator = 0;
  std::vector<double> running_sums(whole.running_sums.size(), 0);
  for (const auto& numbers : std::vector<std::vector<int64_t>>{{1}, {2, 3}, {4}}) {
    const auto batch = test::batch_of(numbers);
    const auto part = replaced_token_losses(*model, batch, context);
    generator += part.generator.item<double>();
    discriminator += part.discriminator.item<double>();
    for (std::size_t i = 0; i < running_sums.size(); ++i) {
      running_sums[i] += part.running_sums[i];
    }
    batching::advance_offsets(batch, context);
  }
  EXPECT_NEAR(generator, whole.generator.item<double>(), 1e-3);
  EXPECT_NEAR(discriminator, whole.discriminator.item<double>(), 1e-2);
  for (std::size_t i = 0; i < running_sums.size(); ++i) {
    EXPECT_NEAR(running_sums[i], whole.running_sums[i], 1e-3) << i;
  }
}

TEST(ReplacedToken, NoGradientPassesThroughTheDraws) {
  const auto model = pair_of();
  const auto batch = test::batch_of({1, 2, 3});
  replaced_token_losses(*model, batch).discriminator.backward();
  for (const auto& parameter : model->named_parameters()) {
    const bool is_own = parameter.key().starts_with("generator.") &&
                        !parameter.key().starts_with("generator.embeddings.");
    EXPECT_EQ(parameter.value().grad().defined(), !is_own) << parameter.key();
  }
  test::clear_gradients(*model);
  replaced_token_losses(*model, batch).generator.backward();
  for (const auto& parameter : model->named_parameters()) {
    const bool is_the_generators =
        parameter.key().starts_with("generator.") || parameter.key().starts_with("embeddings.");
    EXPECT_EQ(parameter.value().grad().defined(), is_the_generators) << parameter.key();
  }
}

TEST(ReplacedToken, TheGeneratorDropsOtherFeatures) {
  auto options = discriminator_options();
  options.dropout = 0.5;
  const auto model = pair_of(options);
  auto context = at_step(6);
  context.is_training = true;
  const auto batch = test::batch_of({1, 2});
  context.layout = batching::to_device(batch, at::kCPU).context.layout;
  const auto mlm = make_masked_lm();
  const auto with_its_own = replaced_token_losses(*model, batch, context).generator.item<double>();
  const auto alone = mlm->losses(*models::generator_of(*model), batch, context);
  EXPECT_NE(with_its_own, alone[0].item<double>());
  context.is_training = false;
  EXPECT_NEAR(replaced_token_losses(*model, batch, context).generator.item<double>(),
              mlm->losses(*models::generator_of(*model), batch, context)[0].item<double>(), 1e-5);
}

TEST(ReplacedToken, BatchWithoutMaskedTokensTrainsOnlyTheDiscriminator) {
  const auto model = pair_of();
  auto batch = test::batch_of({1, 2});
  batch.targets.clear();
  batch.target_rows.clear();
  const auto found = replaced_token_losses(*model, batch);
  EXPECT_EQ(found.generator.item<double>(), 0);
  // Ranks that share the weights of layers run the same passes, with masked tokens or without.
  EXPECT_TRUE(found.generator.requires_grad());
  EXPECT_EQ(found.running_sums[kReplaced], 0);
  EXPECT_GT(found.discriminator.item<double>(), 0);
}

TEST(ReplacedToken, EvaluationDoesNotDependOnBatches) {
  const auto model = pair_of();
  const auto objective = make_replaced_token(objective_options());
  const auto together = test::evaluate(*objective, *model, {test::batch_of({1, 2, 3, 4, 5})});
  const auto apart = test::evaluate(
      *objective, *model, {test::batch_of({5, 2}), test::batch_of({4}), test::batch_of({1, 3})});
  ASSERT_EQ(together.size(), 8U);
  for (const auto& [name, value] : together) {
    EXPECT_NEAR(value, apart.at(name), 1e-6) << name;
  }
  EXPECT_NEAR(together.at("eval_loss"),
              together.at("eval_generator_loss") + 50 * together.at("eval_discriminator_loss"),
              1e-9);
  EXPECT_GT(together.at("eval_replaced_share"), 0);
}

TEST(ReplacedToken, ConfigsThatMakeNoPairAreRefused) {
  const auto objective = make_replaced_token(objective_options());
  EXPECT_FALSE(objective->incompatibility(discriminator_options()));
  const auto bert = objective->incompatibility(test::tiny_model(models::Head::kMaskedLm));
  ASSERT_TRUE(bert);
  EXPECT_EQ(bert->message,
            "replaced_token cannot train a model of type bert, which has no discriminator");
  const auto odd = make_replaced_token({.generator = {.dim = 9, .heads = 2}})
                       ->incompatibility(discriminator_options());
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->key, "generator");
}

/// A pair of models and a batch with the results of transformers, as
/// scripts/parity/replaced_token.py writes it.
class Reference {
 public:
  explicit Reference(std::string directory) : directory_(std::move(directory)) {
    auto options = models::read_model_config(directory_);
    options.dropout = options.attention_dropout = 0;
    model_ = models::load_model(directory_, options, 1).model;
    models::load_generator(*model_, directory_);
    expected_ = test::read_tensors(directory_ + "/outputs.safetensors");
  }

  void expect_equal() {
    const auto batch = this->batch();
    const auto found = replaced_token_losses(*model_, batch, context_);
    const auto generator = found.generator / static_cast<double>(batch.targets.size());
    const auto discriminator = found.discriminator / static_cast<double>(batch.tokens());
    EXPECT_TRUE(test::near(generator.detach(), expected_.at("generator_loss"), 1e-5));
    EXPECT_TRUE(test::near(discriminator.detach() / 50, expected_.at("discriminator_loss"), 1e-5));
    const auto targets = at::tensor(batch.targets, at::kLong);
    EXPECT_EQ(found.running_sums[kReplaced],
              at::ne(expected_.at("drawn"), targets).sum().item<double>());
    (generator + discriminator).backward();
    expect_gradients(model_->options(), "");
    expect_gradients(models::generator_of(*model_)->options(), "generator.");
  }

 private:
  data::Batch batch() {
    const auto tensors = test::read_tensors(directory_ + "/batch.safetensors");
    const auto numbers = [&](const char* name) {
      const auto& tensor = tensors.at(name);
      const auto* const data = tensor.const_data_ptr<int64_t>();
      return std::vector<int64_t>(data, data + tensor.numel());
    };
    context_ = at_step(static_cast<uint64_t>(numbers("step").front()),
                       static_cast<uint64_t>(numbers("seed").front()));
    data::Batch batch;
    batch.ids = numbers("ids");
    batch.token_type_ids = numbers("types");
    batch.offsets = numbers("offsets");
    batch.target_rows = numbers("target_rows");
    batch.targets = numbers("targets");
    batch.items.resize(batch.offsets.size() - 1);
    return batch;
  }

  void expect_gradients(const models::ModelOptions& options, const std::string& prefix) {
    const auto parameters = model_->named_parameters();
    for (const auto& stored : models::weight_map(options)) {
      const auto ours = models::to_file_layout(
          models::rows_of(parameters[prefix + stored.parameter].grad(), stored), stored);
      const auto name = "gradient." + prefix + stored.name;
      ASSERT_TRUE(expected_.contains(name)) << name;
      const auto& wanted = expected_.at(name);
      // The loss weighs 50, and so does the rounding of gradients that are zero (of keys' biases).
      const double largest = std::max(0.5, wanted.abs().max().item<double>());
      EXPECT_TRUE(test::near(ours, wanted, 1e-4 * largest)) << name;
    }
  }

  std::string directory_;
  std::shared_ptr<models::Model> model_;
  test::Tensors expected_;
  nn::ForwardContext context_;
};

TEST(ReplacedTokenReference, EqualsTransformers) {
  Reference(WEFT_SOURCE_DIR "/tests/reference/replaced_token").expect_equal();
}

TEST(ReplacedTokenReference, EqualsTransformersWithRandomWeights) {
  if (const auto why = test::missing_for_parity(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  for (const auto* seed : {"17", "18"}) {
    const test::Folder folder;
    const auto written =
        test::run_parity("replaced_token.py", {"--target", folder.path(), "--seed", seed});
    ASSERT_EQ(written.status, 0) << written.err;
    Reference(folder.path()).expect_equal();
  }
}

}  // namespace
}  // namespace weft::objectives
