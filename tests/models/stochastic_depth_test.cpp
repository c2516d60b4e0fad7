// Models that skip layers in training, and shallower ones made of them.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/directory.h"
#include "models/layer_pruning.h"
#include "models/tiny.h"
#include "support/config.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

nn::ForwardContext step_context(uint64_t step) {
  auto context = test::context_of({0, 3, 4, 9, 11});
  context.is_training = true;
  context.step = step;
  return context;
}

at::Tensor states_of(Model& model, const nn::ForwardContext& context) {
  const auto ids = at::arange(11, at::kLong) * 5 % 19 + 1;
  if (model.options().decoder.layers == 0) {
    return model.hidden({.ids = ids, .types = {}}, context);
  }
  auto source = test::context_of({0, 2, 5, 6, 10});
  source.is_training = context.is_training;
  source.step = context.step;
  source.earlier_lengths = context.earlier_lengths;
  const nn::EncoderStates states{
      .states = model.encode({.ids = at::arange(10, at::kLong) + 3, .patches = {}}, source),
      .layout = source.layout};
  auto decoder = context;
  decoder.encoder_states = &states;
  return model.hidden({.ids = ids, .types = {}}, decoder);
}

class StochasticDepth : public testing::TestWithParam<std::string> {};

TEST_P(StochasticDepth, ComputesOnlyTheSequencesThatItKeeps) {
  const auto family = family_named(GetParam());
  auto options = family_defaults(family);
  const auto tiny = test::tiny_options(family);
  for (const auto head : {Head::kMaskedLm, Head::kCausalLm, Head::kConditional}) {
    options.head = has_head(family, head) ? head : options.head;
  }
  options.vocabulary = tiny.vocabulary;
  options.dim = 16;
  options.layers = 3;
  options.heads = 2;
  options.width = 12;
  options.length = 12;
  options.key_value_heads = 0;
  options.head_dim = 0;
  if (options.decoder.layers > 0) {
    options.decoder.layers = 2;
    options.decoder.heads = 2;
    options.decoder.width = 12;
    options.head_dim = 8;
  }
  options.dropout = options.attention_dropout = options.activation_dropout =
      options.embedding_dropout = 0;
  options.init_std = 0.2;
  options.stochastic_depth = {.drop_path_rate = 0.5, .is_constant = true};
  const auto model = make_model(options, 4);
  bool differs = false;
  for (uint64_t step = 0; step < 4; ++step) {
    auto context = step_context(step);
    const auto skipped = states_of(*model, context);
    context.earlier_lengths.reset();
    EXPECT_TRUE(test::near(skipped, states_of(*model, context), 1e-5)) << step;
    context.is_training = false;
    differs = differs || !test::near(skipped, states_of(*model, context), 1e-3);
  }
  EXPECT_TRUE(differs);
}

INSTANTIATE_TEST_SUITE_P(
    Families,
    StochasticDepth,
    testing::Values(
        "bert", "deberta-v2", "funnel", "modernbert", "gpt2", "gpt_neox", "llama", "t5", "bart"),
    [](const auto& test) {
      std::string name = test.param;
      std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
      return name;
    });

TEST(StochasticDepthOptions, AreSavedWithTheModel) {
  auto options = test::tiny_options();
  EXPECT_FALSE(json_from_options(options, formats::DType::kF32).contains("drop_path_rate"));
  options.stochastic_depth = {.drop_path_rate = 0.25, .is_constant = true, .layerdrop = 0.125};
  const auto json = json_from_options(options, formats::DType::kF32);
  EXPECT_EQ(json.at("model_type"), "bert") << "the layers are those of the family";
  EXPECT_EQ(options_from_json(json, "config.json").stochastic_depth, options.stochastic_depth);
}

/// A pruned model is what training has computed in steps that dropped the same layers.
TEST(LayerPruning, KeepsTheGivenLayers) {
  auto options = test::tiny_options();
  options.layers = 3;
  options.dropout = options.attention_dropout = 0;
  options.stochastic_depth.layerdrop = 0.3;
  const auto model = make_model(options, 5);
  const auto pruned = prune_layers(*model, {0, 2});
  EXPECT_EQ(pruned->options().layers, 2);
  EXPECT_TRUE(pruned->named_parameters()["layers.1.feed_forward.up.weight"].equal(
      model->named_parameters()["layers.2.feed_forward.up.weight"]));
  EXPECT_TRUE(pruned->named_parameters()["head.dense.weight"].equal(
      model->named_parameters()["head.dense.weight"]));
  int64_t equal_steps = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    const auto context = step_context(step);
    auto evaluated = context;
    evaluated.is_training = false;
    const auto shallow = states_of(*pruned, evaluated);
    equal_steps += test::near(shallow, states_of(*model, context), 1e-6) ? 1 : 0;
  }
  EXPECT_GT(equal_steps, 0);
  EXPECT_LT(equal_steps, 30);
  EXPECT_EQ(prune_layers(*model, {})->options().layers, 3);
}

TEST(LayerPruning, RefusesWhatIsNotPossible) {
  auto options = test::tiny_options();
  options.layers = 3;
  const auto message = [&](const std::vector<int64_t>& layers) {
    const auto model = make_model(options, 5);
    return test::message_of<UserError>([&] { prune_layers(*model, layers); });
  };
  EXPECT_EQ(message({1, 3}), "layers: found 3, expected increasing numbers from 0 to 2");
  EXPECT_EQ(message({1, 1}), "layers: found 1, expected increasing numbers from 0 to 2");
  options.layer_types.sharing = LayerSharing{.distinct = 1};
  EXPECT_EQ(message({1}),
            "BertForMaskedLM: its layers cannot be pruned, because they have different types, read "
            "documents, share their parameters or have early exits");
}

}  // namespace
}  // namespace weft::models
