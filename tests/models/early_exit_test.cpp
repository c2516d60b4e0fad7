#include "models/early_exit.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/config/stack_keys.h"
#include "models/directory.h"
#include "models/encoder.h"
#include "models/tiny.h"
#include "models/weights/weight_map.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions options_with_exits(const std::string& rule,
                                const std::string& family = "bert",
                                int64_t layers = 4) {
  auto options = test::tiny_options(family_named(family), Head::kSequence);
  options.layers = layers;
  options.early_exit = EarlyExitOptions{};
  replace_exit_rule(rule, "test", options);
  return options;
}

TextInput exit_input() { return {.ids = at::arange(14, at::kLong) * 5 % 19 + 1, .types = {}}; }

nn::ForwardContext exit_context() { return test::context_of({0, 3, 4, 9, 14}); }

/// The classes, and the numbers of layers.
struct Answer {
  at::Tensor logits;
  std::vector<int64_t> layers;
};

Answer answer_of(Model& model, const TextInput& input, nn::ForwardContext context) {
  Answer answer;
  context.exit_layers = &answer.layers;
  answer.logits = model.classify(input, context);
  return answer;
}

Answer answer_of(const std::string& rule, const std::string& family = "bert") {
  return answer_of(*make_model(options_with_exits(rule, family), 6), exit_input(), exit_context());
}

std::vector<WeightedLogits> all_logits(const std::string& family = "bert") {
  const auto model = make_model(options_with_exits("{type: entropy}", family), 6);
  return model->training_logits(exit_input(), exit_context());
}

TEST(EarlyExit, WithoutExitsItIsTheWholeModel) {
  for (const std::string family : {"bert", "roberta", "modernbert", "deberta-v2"}) {
    auto options = options_with_exits("{type: entropy}", family);
    const auto with = make_model(options, 6);
    options.early_exit.reset();
    const auto without = make_model(options, 6);
    for (const auto& parameter : without->named_parameters()) {
      ASSERT_TRUE(parameter.value().equal(with->named_parameters()[parameter.key()]));
    }
    const auto expected = without->classify(exit_input(), exit_context());
    for (const std::string rule :
         {"{type: entropy, threshold: 0}", "{type: patience, patience: 4}"}) {
      const auto answer = answer_of(rule, family);
      EXPECT_TRUE(test::near(answer.logits, expected, 1e-5)) << family << rule;
      EXPECT_EQ(answer.layers, std::vector<int64_t>(4, 4));
    }
  }
}

TEST(EarlyExit, ASureSequenceLeavesBehindTheFirstLayer) {
  for (const std::string family : {"bert", "modernbert"}) {
    const auto answer = answer_of("{type: entropy, threshold: 1.2}", family);  // above ln 3
    EXPECT_EQ(answer.layers, std::vector<int64_t>(4, 1));
    EXPECT_TRUE(test::near(answer.logits, all_logits(family).front().logits, 1e-5));
  }
}

/// Each sequence has the output of the classifier after its own last layer.
TEST(EarlyExit, SequencesLeaveBehindDifferentLayers) {
  const auto all = all_logits();
  double before = 5;
  bool differs = false;
  for (int step = 0; step <= 40; ++step) {
    const auto threshold = 0.03 * step;
    const auto answer = answer_of("{type: entropy, threshold: " + std::to_string(threshold) + "}");
    double sum = 0;
    for (std::size_t b = 0; b < answer.layers.size(); ++b) {
      const auto layer = answer.layers[b];
      const auto row = static_cast<int64_t>(b);
      EXPECT_TRUE(test::near(answer.logits[row],
                             all[static_cast<std::size_t>(layer) - 1].logits[row], 1e-5));
      sum += static_cast<double>(layer) / 4;
      differs = differs || layer != answer.layers.front();
    }
    EXPECT_LE(sum, before) << "a higher threshold needs no more layers";
    before = sum;
  }
  EXPECT_EQ(before, 1);
  EXPECT_TRUE(differs);
}

TEST(EarlyExit, ASequenceDoesNotDependOnTheOthers) {
  const auto model = make_model(options_with_exits("{type: entropy, threshold: 1.0}"), 6);
  const auto input = exit_input();
  const auto context = exit_context();
  const auto together = answer_of(*model, input, context);
  for (int64_t b = 0; b < 4; ++b) {
    const auto begin = context.layout.offsets[static_cast<std::size_t>(b)];
    const auto length = context.layout.length(b);
    const auto alone = answer_of(*model, {.ids = input.ids.narrow(0, begin, length), .types = {}},
                                 test::context_of({0, length}));
    EXPECT_TRUE(test::near(alone.logits[0], together.logits[b], 1e-5));
    EXPECT_EQ(alone.layers.front(), together.layers[static_cast<std::size_t>(b)]);
  }
}

TEST(EarlyExit, TrainsAllClassifiers) {
  auto options = options_with_exits("{type: patience, patience: 2}");
  auto model = make_model(options, 6);
  auto context = exit_context();
  context.is_training = true;
  const auto by_depth = model->training_logits(exit_input(), context);
  ASSERT_EQ(by_depth.size(), 4U);
  at::Tensor loss = at::zeros({});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(by_depth[i].weight, static_cast<double>(i + 1) / 10, 1e-12);
    loss = loss + by_depth[i].weight * by_depth[i].logits.square().sum();
  }
  loss.backward();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
  EXPECT_FALSE(test::near(by_depth[1].logits, by_depth[2].logits, 1e-6));
  options.early_exit->weights_by_depth = false;
  model = make_model(options, 6);
  for (const auto& classifier : model->training_logits(exit_input(), context)) {
    EXPECT_EQ(classifier.weight, 0.25);
  }
}

/// All other tensors keep the names that transformers gives them.
TEST(EarlyExit, IsStoredBesideTheTensorsOfTheFamily) {
  for (const auto family : test::transformers()) {
    if (!has_head(family, Head::kSequence) || capabilities_of(family).has_stream_concatenation) {
      continue;
    }
    auto options = test::tiny_options(family, Head::kSequence);
    const auto without = weight_map(options);
    options.early_exit = EarlyExitOptions{};
    replace_exit_rule("{type: entropy}", "test", options);
    const auto with = weight_map(options);
    ASSERT_GT(with.size(), without.size()) << word_of(family);
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_EQ(with[i].name.starts_with("early_exits."), i >= without.size());
      EXPECT_EQ(with[i].is_separate, i >= without.size());
      EXPECT_EQ(i < without.size() ? without[i].name : with[i].name, with[i].name);
    }
  }
}

TEST(EarlyExit, IsSavedAndAddedToATrainedModel) {
  const test::Folder folder;
  auto options = options_with_exits("{type: patience, patience: 2}");
  options.early_exit->weights_by_depth = false;
  const auto model = make_model(options, 6);
  std::filesystem::create_directory(folder.path("with"));
  save_model(folder.path("with"), *model, formats::DType::kF32);
  // A file of their own, which transformers does not read.
  const formats::SafetensorsFile tensors_of_family(folder.path("with/model.safetensors"));
  for (const auto& [name, view] : tensors_of_family.tensors()) {
    EXPECT_FALSE(name.starts_with("early_exits.")) << name;
  }
  EXPECT_EQ(formats::SafetensorsFile(folder.path("with/weft.safetensors")).tensors().size(),
            3U * 4U);
  const auto read = read_model_config(folder.path("with"));
  ASSERT_TRUE(read.early_exit);
  EXPECT_EQ(read.early_exit->rule, options.early_exit->rule);
  EXPECT_FALSE(read.early_exit->weights_by_depth);
  const auto loaded = load_model(folder.path("with"), read, 0);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  EXPECT_TRUE(loaded.model->classify(exit_input(), exit_context())
                  .equal(model->classify(exit_input(), exit_context())));

  auto plain = options;
  plain.early_exit.reset();
  std::filesystem::create_directory(folder.path("without"));
  save_model(folder.path("without"), *make_model(plain, 8), formats::DType::kF32);
  const auto added = load_model(folder.path("without"), options, 0);
  EXPECT_EQ(added.missing_keys.size(), 3U * 4U) << "pooler and output of each";
  EXPECT_TRUE(added.missing_keys.front().starts_with("early_exits.0_"));
  const auto dropped = load_model(folder.path("with"), plain, 0);
  EXPECT_EQ(dropped.unexpected_keys.size(), 3U * 4U);
}

TEST(EarlyExit, ARuleNeedsAModelWithExits) {
  auto options = test::tiny_options();
  replace_exit_rule("", "--early-exit", options);
  EXPECT_EQ(test::message_of<UserError>(
                [&] { replace_exit_rule("{type: entropy}", "--early-exit", options); }),
            "--early-exit: the model has no early exits: it was trained without model.early_exit");
  auto with = options_with_exits("{type: entropy}");
  EXPECT_NE(test::message_of<config::Error>([&] {
              replace_exit_rule("{type: entropie}", "--early-exit", with);
            }).find("entropy"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::models
