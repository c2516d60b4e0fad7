#include "models/funnel_encoder.h"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "models/weights/weight_map.h"
#include "nn/position/position.h"
#include "support/components.h"
#include "support/config.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions tiny_funnel(Head head = Head::kMaskedLm) {
  auto options = test::tiny_options(family_named("funnel"), head);
  options.funnel.block_sizes = {1, 2, 1};
  options.funnel.decoder_layers = 1;
  options.layers = 4;
  return options;
}

std::shared_ptr<Model> funnel_model(const ModelOptions& options) {
  auto model = make_model(options, 3);
  test::fill_parameters(*model);
  return model;
}

/// Texts of 8, 1, 2, 3 and 5 tokens.
const std::vector<int64_t> kTextOffsets = {0, 8, 9, 11, 14, 19};

TextInput funnel_texts(int64_t first = 0, int64_t count = 19) {
  const auto places = at::arange(first, first + count, at::kLong);
  return {.ids = places * 7 % 17 + 1, .types = places.div(3, "floor") % 2};
}

/// The positions and the other parts of the attention are those of the type transformer_xl, if
/// all tokens have the same type and the first one is like the others.
TEST(FunnelEncoder, OneBlockIsAnEncoderWithTheSamePositions) {
  auto options = tiny_funnel(Head::kBase);
  options.funnel.block_sizes = {2};
  options.funnel.pooling.separate_cls = false;
  options.layers = 2;
  const auto funnel = funnel_model(options);
  auto plain = test::tiny_options(family_named("bert"), Head::kNone);
  plain.norm_epsilon = options.norm_epsilon;
  plain.activation = options.activation;
  plain.layer_types.positions = {
      test::component(nn::position_types(), "position", "type: transformer_xl")};
  const auto encoder = funnel_model(plain);
  const at::NoGradGuard guard;
  const auto from = funnel->named_parameters();
  for (auto& parameter : encoder->named_parameters()) {
    auto name = parameter.key();
    auto& value = parameter.value();
    if (name == "embeddings.segment.weight") {
      value.zero_();
    } else if (const auto qkv = name.find("qkv."); qkv != std::string::npos) {
      const auto part = name.substr(qkv + 4);
      const auto stem = name.substr(0, qkv);
      value.zero_();
      value.narrow(0, 8, 16).copy_(from[stem + "key_value." + part]);
      if (part == "weight") {
        value.narrow(0, 0, 8).copy_(from[stem + "query.weight"]);
      }
    } else if (const auto own = name.find("transformer_xl."); own != std::string::npos) {
      const auto& source = from[name.replace(own, 15, "relative.")];
      value.copy_(name.ends_with("projection") ? source.t() : source);
    } else if (!name.starts_with("pooler.")) {
      value.copy_(from[name]);
    }
  }
  auto input = funnel_texts();
  input.types = at::Tensor();
  const auto context = test::context_of(kTextOffsets);
  // The bias of tokens of the same type is the same for all keys: it changes no weight.
  EXPECT_TRUE(test::near(funnel->hidden(input, context), encoder->hidden(input, context)));
}

TEST(FunnelEncoder, ResultsDoNotDependOnOtherTexts) {
  for (const auto head : {Head::kNone, Head::kBase}) {
    for (const bool separate_cls : {true, false}) {
      auto options = tiny_funnel(head);
      options.funnel.pooling.separate_cls = separate_cls;
      options.funnel.pooling.truncate_seq = separate_cls;
      const auto model = funnel_model(options);
      const auto context = test::context_of(kTextOffsets);
      const auto together = model->hidden(funnel_texts(), context);
      const auto layout = model->hidden_layout(context.layout);
      EXPECT_EQ(layout.tokens(), together.size(0));
      for (std::size_t b = 0; b + 1 < kTextOffsets.size(); ++b) {
        const auto length = kTextOffsets[b + 1] - kTextOffsets[b];
        const auto alone =
            model->hidden(funnel_texts(kTextOffsets[b], length), test::context_of({0, length}));
        EXPECT_TRUE(test::near(together.slice(0, layout.offsets[b], layout.offsets[b + 1]), alone))
            << length;
      }
    }
  }
}

TEST(FunnelEncoder, TheBaseModelHasTheStatesOfTheLastBlock) {
  const auto model = funnel_model(tiny_funnel(Head::kBase));
  const auto context = test::context_of(kTextOffsets);
  EXPECT_EQ(model->hidden_layout(context.layout).offsets, (std::vector<int64_t>{0, 2, 3, 5, 7, 9}));
  EXPECT_EQ(model->hidden(funnel_texts(), context).sizes(), (std::vector<int64_t>{9, 8}));
}

TEST(FunnelEncoder, SelectedStatesAreThoseOfAllStates) {
  for (const int64_t decoder : {0, 2}) {
    auto options = tiny_funnel();
    options.funnel.decoder_layers = decoder;
    const auto model = funnel_model(options);
    const auto context = test::context_of(kTextOffsets);
    const auto rows = nn::RowSelection::from_rows({1, 4, 8, 12, 18}, context, 0);
    EXPECT_TRUE(test::near(model->selected_hidden_states(funnel_texts(), context, rows),
                           rows.select(model->hidden(funnel_texts(), context))));
  }
}

TEST(FunnelEncoder, ClassifyingComputesWhatTheHiddenStatesGive) {
  for (const auto& sizes : {std::vector<int64_t>{1, 2, 1}, std::vector<int64_t>{3}}) {
    auto options = tiny_funnel(Head::kSequence);
    options.funnel.block_sizes = sizes;
    const auto model = funnel_model(options);
    const auto context = test::context_of(kTextOffsets);
    EXPECT_TRUE(test::near(model->classify(funnel_texts(), context),
                           model->class_logits(model->hidden(funnel_texts(), context), context)));
  }
}

TEST(FunnelEncoder, RepeatedLayersShareTheirParameters) {
  auto options = tiny_funnel(Head::kBase);
  options.funnel.block_sizes = {1, 1};
  options.funnel.block_repeats = {1, 2};
  options.layers = 3;
  const auto repeated = funnel_model(options);
  auto longer = options;
  longer.funnel.block_sizes = {1, 2};
  longer.funnel.block_repeats.clear();
  const auto model = funnel_model(longer);
  EXPECT_FALSE(repeated->named_parameters().contains("layers.2.attention.query.weight"));
  const at::NoGradGuard guard;
  const auto from = repeated->named_parameters();
  for (auto& parameter : model->named_parameters()) {
    auto name = parameter.key();
    if (name.starts_with("layers.2.")) {
      name[7] = '1';
    }
    parameter.value().copy_(from[name]);
  }
  const auto context = test::context_of(kTextOffsets);
  EXPECT_TRUE(test::near(repeated->hidden(funnel_texts(), context),
                         model->hidden(funnel_texts(), context)));
}

TEST(FunnelEncoder, DropoutDoesNotDependOnTheSplitIntoMicroBatches) {
  for (const auto head : {Head::kNone, Head::kBase}) {
    auto options = tiny_funnel(head);
    options.dropout = options.attention_dropout = options.activation_dropout = 0.3;
    const auto model = funnel_model(options);
    auto whole = test::context_of(kTextOffsets);
    whole.is_training = true;
    auto last = test::context_of({0, 3, 8});
    last.is_training = true;
    last.first_row = 11;
    last.first_sequence = 3;
    last.earlier_lengths = std::vector<int64_t>{8, 1, 2};
    const auto expected = model->hidden(funnel_texts(), whole);
    const auto found = model->hidden(funnel_texts(11, 8), last);
    EXPECT_TRUE(test::near(found, expected.slice(0, expected.size(0) - found.size(0))));
    whole.is_training = false;
    EXPECT_FALSE(test::near(model->hidden(funnel_texts(), whole), expected, 1e-3));
  }
}

// Numbers of parameters of FunnelForMaskedLM with the configs of the published models.
TEST(Funnel, PresetsHaveThePublishedNumbersOfParameters) {
  const auto parameters_of = [](std::string_view name) {
    int64_t count = 0;
    for (const auto& preset : presets()) {
      auto options = preset.options;
      options.head = Head::kMaskedLm;
      options.vocabulary = 30522;
      for (const auto& tensor :
           preset.name == name ? weight_map(options) : std::vector<StoredTensor>{}) {
        count += tensor.elements();
      }
    }
    return count;
  };
  EXPECT_EQ(parameters_of("funnel-small"), 131'003'706);
  EXPECT_EQ(parameters_of("funnel-intermediate"), 177'088'314);
  EXPECT_EQ(parameters_of("funnel-medium"), 131'003'706);
  EXPECT_EQ(parameters_of("funnel-large"), 386'158'394);
  EXPECT_EQ(parameters_of("funnel-xlarge"), 468'051'770);
}

TEST(Funnel, WhatIsWrittenReadsBack) {
  auto options = tiny_funnel(Head::kSequence);
  options.head_dim = 3;
  options.funnel.block_repeats = {2, 1, 1};
  options.layers = 5;
  options.funnel.pooling = {
      .type = nn::TokenPoolingType::kMax, .separate_cls = false, .truncate_seq = false};
  options.funnel.pool_q_only = false;
  options.funnel.is_factorized = false;
  options.funnel.initializer_range = 0.25;
  const auto json = json_from_options(options, formats::DType::kF32);
  EXPECT_EQ(json.at("architectures"), (formats::Json{"FunnelForSequenceClassification"}));
  EXPECT_FALSE(json.contains("num_hidden_layers")) << "transformers refuses it";
  const auto again = options_from_json(json, "config.json");
  EXPECT_EQ(again.funnel, options.funnel);
  EXPECT_EQ(again.layers, 5);
  EXPECT_EQ(again.head_dim, 3);
  EXPECT_EQ(json_from_options(again, formats::DType::kF32), json);
}

TEST(Funnel, AbsentKeysHaveTheValuesOfTransformers) {
  const auto options = options_from_json(formats::Json{{"model_type", "funnel"}}, "config.json");
  EXPECT_EQ(options.funnel.block_sizes, (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(options.layers, 12);
  EXPECT_EQ(options.dim, 768);
  EXPECT_EQ(options.norm_epsilon, 1e-9);
  EXPECT_EQ(options.pad_id, -1);
  EXPECT_FALSE(options.funnel.is_factorized);
}

std::string funnel_refusal(std::vector<std::pair<std::string, std::string>> keys) {
  keys.insert(keys.begin(), {"type", "funnel"});
  return test::message_of<config::Error>([&] {
    auto section = test::section("model", keys);
    read_model_options(section);
  });
}

TEST(Funnel, ImpossibleKeysAreRefused) {
  EXPECT_NE(funnel_refusal({{"block_sizes", "[2, 0]"}}).find("numbers from 1 to"),
            std::string::npos);
  EXPECT_NE(funnel_refusal({{"block_sizes", "[2, 2]"}, {"block_repeats", "[1]"}})
                .find("found 1 numbers, must be 2"),
            std::string::npos);
  EXPECT_NE(funnel_refusal({{"pooling_type", "first"}}).find("mean, max"), std::string::npos);
  EXPECT_NE(funnel_refusal({{"layers", "4"}}).find("layers"), std::string::npos);
  EXPECT_NE(funnel_refusal({{"attention", "{type: window, window: 4}"}}).find("pooled queries"),
            std::string::npos);
  EXPECT_NE(funnel_refusal({{"position", "{type: learned}"}}).find("its attention has positions"),
            std::string::npos);
}

TEST(Funnel, KeysAreThoseOfTransformers) {
  auto section = test::section("model", {{"type", "funnel"},
                                         {"dim", "64"},
                                         {"attention", "{heads: 4, head_dim: 8}"},
                                         {"block_sizes", "[3, 2]"},
                                         {"block_repeats", "[1, 2]"},
                                         {"num_decoder_layers", "1"},
                                         {"pooling_type", "max"},
                                         {"separate_cls", "false"},
                                         {"truncate_seq", "false"},
                                         {"pool_q_only", "false"}});
  const auto options = read_model_options(section);
  EXPECT_EQ(options.layers, 7);
  EXPECT_EQ(options.head_dim, 8);
  EXPECT_EQ(options.funnel.decoder_layers, 1);
  EXPECT_EQ(options.funnel.pooling,
            (nn::TokenPoolingOptions{nn::TokenPoolingType::kMax, false, false}));
  EXPECT_FALSE(options.funnel.pool_q_only);
}

}  // namespace
}  // namespace weft::models
