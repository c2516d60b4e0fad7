#include "models/decoding/speculative_decoder.h"

#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "config/section.h"
#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/directory.h"
#include "models/inference.h"
#include "nn/attention/attention.h"
#include "nn/sublayer.h"
#include "tiny_decoders.h"

namespace weft::models {
namespace {

DecodingOutput speculative_output(Model& model) {
  return {.packed = kernels::packed(model.output_weight().t()), .bias = model.output_bias()};
}

/// Counts the passes of a model.
class CountedDecoder : public Decoder {
 public:
  explicit CountedDecoder(Decoder& decoder) : decoder_(decoder) {}

  at::Tensor first() override { return decoder_.first(); }
  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override {
    ++steps;
    return decoder_.next(rows, tokens);
  }

  int64_t steps = 0;

 private:
  Decoder& decoder_;
};

/// The model, slightly changed: right about many tokens, wrong about others.
std::shared_ptr<Model> noisy(const ModelOptions& options, double noise) {
  auto model = make_model(options, 5);
  double phase = 0;
  for (auto& parameter : model->parameters()) {
    const auto wave = (at::arange(parameter.numel(), at::kDouble) * 1.3 + phase).sin();
    parameter.add_(wave.to(at::kFloat).view_as(parameter), noise);
    phase += 1;
  }
  return model;
}

struct Speculation {
  DraftCounts counts;
  int64_t steps = 0;  // of the search without a draft model
};

/// Texts with and without a draft model, greedy and sampled.
Speculation expect_same_with(Model& model,
                             Model& draft,
                             const std::vector<Prompt>& asked,
                             const DraftOptions& draft_options = {}) {
  const at::NoGradGuard guard;
  Speculation result;
  const auto output = speculative_output(model);
  const auto draft_output = speculative_output(draft);
  for (const bool samples : {false, true}) {
    const SearchOptions options{.eos_ids = {3},
                                .sampling = {.is_enabled = samples, .temperature = 1.5},
                                .num_return_sequences = samples ? 2 : 1};
    ModelDecoder alone(model, output, asked);
    CountedDecoder counted(alone);
    const auto expected = search(counted, asked, options);
    result.steps += counted.steps;
    ModelDecoder checking(model, output, asked);
    ModelDecoder drafting(draft, draft_output, asked);
    auto own = draft_options;
    own.sampling = options.sampling;
    SpeculativeDecoder speculative(checking, drafting, asked, own, result.counts);
    const auto found = search(speculative, asked, options);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      EXPECT_EQ(found[i].size(), expected[i].size());
      for (std::size_t j = 0; j < expected[i].size(); ++j) {
        EXPECT_EQ(found[i][j].tokens, expected[i][j].tokens);
        EXPECT_NEAR(found[i][j].log_probability, expected[i][j].log_probability, 1e-3);
      }
    }
  }
  return result;
}

std::vector<ModelOptions> speculative_models() {
  std::vector<ModelOptions> models;
  for (const auto* family : {"gpt2", "llama", "t5", "bart", "marian"}) {
    models.push_back(test::decoder_options(family_named(family)));
  }
  // States of sequences, which no token can be taken out of.
  struct Layers {
    std::string block;
    char letter;
    std::string keys;
  };
  for (const auto& [block, letter, keys] :
       {Layers{"rf", 'r', "{width: 12}"}, Layers{"raf", 'r', "{width: 12}"},
        Layers{"avf", 'v', "{kernel: 3}"}, Layers{"amf", 'm', "{slots: 3, segment: 5}"}}) {
    auto options = test::decoder_options(family_named("llama"));
    options.layer_types.block = block;
    auto section = config::Document::parse(keys, "test.yaml").root();
    const auto& sublayer = *nn::find_sublayer(letter);
    options.layer_types.sublayers[std::string(sublayer.name)].cycle = {
        nn::read_component(section, sublayer)};
    models.push_back(options);
  }
  auto tree = test::decoder_options(family_named("gpt2"));
  auto section = config::Document::parse("{neighbours: 1}", "test.yaml").root();
  tree.layer_types.attention.cycle = {
      nn::read_component(section, nn::attention_types().at("binary_tree"))};
  models.push_back(tree);
  return models;
}

TEST(SpeculativeDecoder, TextsAreThoseOfTheModelAlone) {
  for (const auto& options : speculative_models()) {
    SCOPED_TRACE(std::string(options.family->name) + " " + options.layer_types.block);
    const at::NoGradGuard guard;
    const auto model = make_model(options, 5);
    for (const double noise : {0.0, 0.05, 2.0}) {
      const auto draft = noisy(options, noise);
      const auto one = expect_same_with(*model, *draft, {test::decoder_prompts().back()});
      EXPECT_GT(one.counts.proposed, 0);
      if (noise == 0) {
        EXPECT_GT(one.counts.accepted, 0);
      }
      expect_same_with(*model, *draft, test::decoder_prompts(), {.tokens = 3});
    }
  }
}

TEST(SpeculativeDecoder, AllProposalsOfTheModelItselfAreChosen) {
  const auto options = test::decoder_options(family_named("llama"));
  const auto model = make_model(options, 5);
  const auto draft = make_model(options, 5);
  auto prompt = test::decoder_prompts().back();
  prompt.max_new_tokens = 13;
  const auto done = expect_same_with(*model, *draft, {prompt}, {.tokens = 3});
  // Only those after the end of a text are not.
  EXPECT_LE(done.counts.proposed - done.counts.accepted, 3 * 3);
  EXPECT_GE(done.counts.accepted, done.steps / 2);
}

TEST(SpeculativeDecoder, BothModelsKeepToOutputTokens) {
  const at::NoGradGuard guard;
  const auto options = test::decoder_options(family_named("bart"));
  const auto model = make_model(options, 5);
  auto asked = test::decoder_prompts();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (int64_t token = 3; token < test::kDecoderWords; token += 1 + static_cast<int64_t>(i)) {
      asked[i].output_tokens.push_back(token);
    }
  }
  EXPECT_GT(expect_same_with(*model, *make_model(options, 5), asked).counts.accepted, 0);
  EXPECT_GT(expect_same_with(*model, *noisy(options, 2), asked).counts.proposed, 0);
}

TEST(SpeculativeDecoder, ADraftModelOfFewPositionsStops) {
  const auto options = test::decoder_options(family_named("gpt2"));
  auto short_options = options;
  short_options.length = 8;
  const at::NoGradGuard guard;
  const auto model = make_model(options, 5);
  const auto draft = make_model(short_options, 5);
  for (auto prompt : test::decoder_prompts()) {  // of 2 to 8 tokens
    prompt.max_new_tokens = 20;
    const auto done = expect_same_with(*model, *draft, {prompt}, {.tokens = 4, .length = 8});
    EXPECT_EQ(done.counts.proposed > 0, prompt.tokens.size() < 8);
  }
}

TEST(SpeculativeDecoder, TextsMayHaveDifferentLimits) {
  const auto options = test::decoder_options(family_named("llama"));
  const auto model = make_model(options, 5);
  auto asked = test::decoder_prompts();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i].max_new_tokens = static_cast<int64_t>(i) * 3;
  }
  expect_same_with(*model, *make_model(options, 5), asked, {.tokens = 4});
}

}  // namespace
}  // namespace weft::models
