#include "models/encoder_decoder.h"

#include <map>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/family_definition.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "models/encoder_decoder_parts.h"
#include "models/tiny.h"
#include "nn/decoding_state.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

const std::vector<Family> kSeq2seqFamilies = {family_named("t5"),     family_named("mt5"),
                                              family_named("bart"),   family_named("mbart"),
                                              family_named("marian"), family_named("transformer")};

ModelOptions seq2seq_tiny(Family family, Head head = Head::kConditional) {
  auto options = family_defaults(family);
  options.head = head;
  options.vocabulary = 20;
  options.dim = 8;
  options.layers = 2;
  options.heads = 2;
  options.width = 12;
  options.length = 30;
  options.init_std = family == family_named("t5") || family == family_named("mt5") ? 1 : 0.3;
  options.decoder.layers = 2;
  options.decoder.heads = 4;
  options.decoder.width = 10;
  if (position_limit(options) == 0) {
    options.decoder.heads = options.heads;  // both are equal in T5
    options.decoder.width = options.width;
    options.head_dim = 3;
    options.relative.buckets = 6;
    options.relative.max_distance = 9;
  }
  set_decoding_ids(options);
  if (head == Head::kSequence) {
    options.labels = {"no", "perhaps", "yes"};
  }
  return options;
}

at::Tensor seq2seq_ids(int64_t count, int64_t seed = 3) {
  return (at::arange(count, at::kLong) * 7 + seed).remainder(17) + 3;
}

/// Hidden states of targets for sources, each given by its offsets.
at::Tensor hidden_of(Model& model,
                     const at::Tensor& source,
                     std::vector<int64_t> source_offsets,
                     const at::Tensor& target,
                     std::vector<int64_t> target_offsets) {
  const auto reading = test::context_of(std::move(source_offsets));
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = source, .patches = {}}, reading), .layout = reading.layout};
  auto writing = test::context_of(std::move(target_offsets));
  writing.encoder_states = &encoder_states;
  return model.hidden({.ids = target, .types = {}}, writing);
}

class EncoderDecoderTest : public testing::TestWithParam<Family> {};

TEST_P(EncoderDecoderTest, TargetsAttendToTheirPastAndOwnSource) {
  const at::NoGradGuard guard;
  const auto model = make_model(seq2seq_tiny(GetParam()), 1);
  const auto source = seq2seq_ids(9);
  const auto target = seq2seq_ids(7, 1);
  const auto before = hidden_of(*model, source, {0, 5, 9}, target, {0, 4, 7});
  auto later = target.clone();
  later[3] = 4;  // the last token of the first target
  const auto after = hidden_of(*model, source, {0, 5, 9}, later, {0, 4, 7});
  EXPECT_TRUE(test::near(after.slice(0, 0, 3), before.slice(0, 0, 3), 1e-6));
  EXPECT_FALSE(test::near(after.slice(0, 3, 4), before.slice(0, 3, 4), 1e-4));
  EXPECT_TRUE(test::near(after.slice(0, 4), before.slice(0, 4), 1e-6));
  auto other = source.clone();
  other[0] = 4;  // of the first source: it says something else to every token of its target
  const auto moved = hidden_of(*model, other, {0, 5, 9}, target, {0, 4, 7});
  EXPECT_FALSE(test::near(moved.slice(0, 0, 1), before.slice(0, 0, 1), 1e-5));
  EXPECT_TRUE(test::near(moved.slice(0, 4), before.slice(0, 4), 1e-6));
}

TEST_P(EncoderDecoderTest, PackedPairsEqualSinglePairs) {
  const at::NoGradGuard guard;
  const auto model = make_model(seq2seq_tiny(GetParam()), 1);
  const auto both = hidden_of(*model, seq2seq_ids(9), {0, 5, 9}, seq2seq_ids(7, 1), {0, 4, 7});
  const auto first = hidden_of(*model, seq2seq_ids(9).slice(0, 0, 5), {0, 5},
                               seq2seq_ids(7, 1).slice(0, 0, 4), {0, 4});
  const auto second =
      hidden_of(*model, seq2seq_ids(9).slice(0, 5), {0, 4}, seq2seq_ids(7, 1).slice(0, 4), {0, 3});
  EXPECT_TRUE(test::near(both, at::cat({first, second}), 1e-5));
}

TEST_P(EncoderDecoderTest, CachedStepsEqualTheWholePass) {
  const at::NoGradGuard guard;
  const auto model = make_model(seq2seq_tiny(GetParam()), 1);
  const auto reading = test::context_of({0, 5, 9});
  const nn::EncoderStates encoder_states{
      .states = model->encode({.ids = seq2seq_ids(9), .patches = {}}, reading),
      .layout = reading.layout};
  const auto target = seq2seq_ids(8, 1);
  const auto whole = hidden_of(*model, seq2seq_ids(9), {0, 5, 9}, target, {0, 4, 8});
  nn::DecodingState state(2);
  nn::ForwardContext context;
  context.encoder_states = &encoder_states;
  context.decoding_state = &state;
  for (int64_t step = 0; step < 4; ++step) {
    context.layout = state.begin_step({1, 1}, at::kCPU);
    const auto now = at::stack({target[step], target[4 + step]});
    const auto found = model->hidden({.ids = now, .types = {}}, context);
    EXPECT_TRUE(test::near(found[0], whole[step], 1e-5)) << step;
    EXPECT_TRUE(test::near(found[1], whole[4 + step], 1e-5)) << step;
  }
}

// As transformers saves BartModel: without the prefix, the head and its bias.
TEST_P(EncoderDecoderTest, IsReadFromTheModelWithoutAHead) {
  const at::NoGradGuard guard;
  const test::Folder folder;
  const auto options = seq2seq_tiny(GetParam());
  const auto model = make_model(options, 1);
  save_model(folder.path(), *model, formats::DType::kF32);
  test::Tensors bare;
  for (const auto& [name, tensor] : test::read_tensors(folder.path("model.safetensors"))) {
    if (name != "final_logits_bias" && name != "lm_head.weight") {
      bare[name.starts_with("model.") ? name.substr(6) : name] = tensor;
    }
  }
  test::write_tensors(folder.path("model.safetensors"), bare);
  auto json = formats::read_json(folder.path("config.json"));
  json["architectures"] = {std::string(hf_names_of(options).class_prefix) + "Model"};
  folder.write("config.json", json.dump());
  if (position_limit(options) ==
      0) {  // T5: config.json then does not say whether the output is tied
    EXPECT_THROW(read_model_config(folder.path()), formats::Error);
    return;
  }
  const auto read = read_model_config(folder.path());
  EXPECT_EQ(read.head, Head::kConditional);
  const auto loaded = load_model(folder.path(), read, 7);
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  const auto expected = model->named_parameters();
  for (const auto& item : loaded.model->named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), expected[item.key()])) << item.key();
  }
}

TEST_P(EncoderDecoderTest, SavesAndLoads) {
  const at::NoGradGuard guard;
  const test::Folder folder;
  const auto options = seq2seq_tiny(GetParam());
  const auto model = make_model(options, 1);
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto read = read_model_config(folder.path());
  const auto loaded = load_model(folder.path(), read, 7);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  EXPECT_EQ(read.tie_word_embeddings, options.tie_word_embeddings);
  EXPECT_EQ(read.decoder, options.decoder);
  EXPECT_EQ(json_from_options(read, formats::DType::kF32),
            json_from_options(options, formats::DType::kF32));
  EXPECT_TRUE(at::equal(hidden_of(*model, seq2seq_ids(5), {0, 5}, seq2seq_ids(4), {0, 4}),
                        hidden_of(*loaded.model, seq2seq_ids(5), {0, 5}, seq2seq_ids(4), {0, 4})));
}

TEST_P(EncoderDecoderTest, TiesShareParameters) {
  const auto model = make_model(seq2seq_tiny(GetParam()), 1);
  const auto& parameters = model->named_parameters();
  const auto word = parameters["embeddings.word.weight"];
  EXPECT_EQ(parameters.contains("head.weight"), GetParam() == family_named("mt5"));
  if (GetParam() != family_named("mt5")) {
    EXPECT_EQ(model->output_weight().data_ptr(), word.data_ptr());
  }
  EXPECT_FALSE(parameters.contains("decoder_embeddings.word.weight"));
}

TEST_P(EncoderDecoderTest, EveryParameterIsStoredAndInitialised) {
  const auto options = seq2seq_tiny(GetParam());
  const auto model = make_model(options, 1);
  std::map<std::string, int64_t> rows;
  for (const auto& tensor : weight_map(options)) {
    rows[tensor.parameter] += tensor.rows();
  }
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_EQ(rows[parameter.key()], parameter.value().size(0)) << parameter.key();
    EXPECT_TRUE(parameter.value().isfinite().all().item<bool>()) << parameter.key();
  }
  EXPECT_EQ(rows.size(), model->named_parameters().size());
}

std::string name_of(const testing::TestParamInfo<Family>& chosen) {
  return std::string(word_of(chosen.param));
}
/// Transparent attention (arXiv:1808.07561) to the last layer alone.
TEST_P(EncoderDecoderTest, AMixOfTheLastEncoderLayerIsThePlainModel) {
  const at::NoGradGuard guard;
  auto options = seq2seq_tiny(GetParam());
  options.layers = 3;
  const auto plain = make_model(options, 1);
  options.layer_types.mix = nn::LayerMixOptions();
  const auto mixed = make_model(options, 1);
  const auto hidden = [&](Model& model) {
    return hidden_of(model, seq2seq_ids(9), {0, 5, 9}, seq2seq_ids(7, 1), {0, 4, 7});
  };
  EXPECT_FALSE(test::near(hidden(*mixed), hidden(*plain), 1e-3));
  auto weight = mixed->named_parameters()["layers.mix.weight"];
  ASSERT_EQ(weight.sizes(), at::IntArrayRef({4, 2}));
  weight.select(0, 3).fill_(1e4);
  EXPECT_TRUE(test::near(hidden(*mixed), hidden(*plain), 1e-5));
}

TEST_P(EncoderDecoderTest, AMixIsSavedAsAWeftModelAndComesBack) {
  const at::NoGradGuard guard;
  auto options = seq2seq_tiny(GetParam());
  options.layer_types.mix = nn::LayerMixOptions{.weight_dropout = 0.3};
  const auto model = make_model(options, 1);
  test::fill_parameters(*model);
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto read = read_model_config(folder.path());
  EXPECT_EQ(json_from_options(read, formats::DType::kF32).at("model_type"), "weft");
  EXPECT_EQ(read.layer_types.mix->weight_dropout, 0.3);
  const auto again = load_model(folder.path(), read, 2).model;
  const auto hidden = [&](Model& of) {
    return hidden_of(of, seq2seq_ids(9), {0, 5, 9}, seq2seq_ids(7, 1), {0, 4, 7});
  };
  EXPECT_TRUE(at::equal(hidden(*again), hidden(*model)));
}

INSTANTIATE_TEST_SUITE_P(Families,
                         EncoderDecoderTest,
                         testing::ValuesIn(kSeq2seqFamilies),
                         name_of);

TEST(EncoderDecoder, ClassifiesTheLastStateOfTheTextReadTwice) {
  const at::NoGradGuard guard;
  const auto options = seq2seq_tiny(family_named("bart"), Head::kSequence);
  const auto model = make_model(options, 1);
  auto text = seq2seq_ids(7);
  text[3] = options.eos_id;
  text[6] = options.eos_id;
  const auto context = test::context_of({0, 4, 7});
  const auto both = model->classify({.ids = text, .types = {}}, context);
  EXPECT_EQ(both.sizes(), (std::vector<int64_t>{2, 3}));
  const auto alone =
      model->classify({.ids = text.slice(0, 4), .types = {}}, test::context_of({0, 3}));
  EXPECT_TRUE(test::near(both.slice(0, 1), alone, 1e-5));
  text[6] = 5;
  EXPECT_THROW(model->classify({.ids = text, .types = {}}, context), c10::Error);
}

TEST(EncoderDecoder, LogitsBiasIsFixed) {
  const auto model = make_model(seq2seq_tiny(family_named("marian")), 1);
  EXPECT_FALSE(model->named_parameters()["logits_bias"].requires_grad());
  EXPECT_TRUE((model->output_bias() == 0).all().item<bool>());
  EXPECT_FALSE(make_model(seq2seq_tiny(family_named("t5")), 1)->output_bias().defined());
}

// feed_forward_proj calls both kinds of GELU after a gate `gated-gelu`.
TEST(EncoderDecoder, T5KeepsItsActivation) {
  using kernels::Activation;
  auto options = seq2seq_tiny(family_named("t5"));
  for (const auto activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    for (const bool is_gated : {false, true}) {
      options.activation = activation;
      options.is_gated = is_gated;
      const auto json = json_from_options(options, formats::DType::kF32);
      const auto read = options_from_json(json, "config.json");
      EXPECT_EQ(read.activation, activation) << json.dump();
      EXPECT_EQ(read.is_gated, is_gated) << json.dump();
    }
  }
  const auto read = options_from_json({{"model_type", "t5"},
                                       {"feed_forward_proj", "relu"},
                                       {"dense_act_fn", "gelu_new"},
                                       {"is_gated_act", true}},
                                      "config.json");
  EXPECT_EQ(read.activation, Activation::kGeluTanh);  // as in transformers
  EXPECT_TRUE(read.is_gated);
}

TEST(EncoderDecoder, T5BeginsWithSmallQueries) {
  auto options = seq2seq_tiny(family_named("t5"));
  options.dim = 64;
  options.heads = 8;
  options.head_dim = 16;
  const auto model = make_model(options, 1);
  const auto qkv = model->named_parameters()["layers.0.attention.qkv.weight"];
  const auto parts = qkv.chunk(3);
  EXPECT_NEAR(parts[0].std().item<double>(), 1.0 / 32, 2e-3);  // (64 * 16)^-0.5
  EXPECT_NEAR(parts[1].std().item<double>(), 1.0 / 8, 8e-3);
  EXPECT_NEAR(parts[2].std().item<double>(), 1.0 / 8, 8e-3);
}

TEST(EncoderDecoderPresets, HaveThePublishedNumbersOfParameters) {
  const std::map<std::string_view, std::pair<int64_t, int64_t>> published = {
      {"t5-small", {32128, 60'506'624}},      {"t5-base", {32128, 222'903'552}},
      {"t5-v1_1-small", {32128, 76'961'152}}, {"mt5-small", {250112, 300'176'768}},
      {"bart-base", {50265, 139'420'416}},    {"bart-large", {50265, 406'291'456}},
      {"mbart-large", {250027, 610'851'840}}};
  std::size_t found = 0;
  for (const auto& preset : presets()) {
    const auto wanted = published.find(preset.name);
    if (wanted == published.end()) {
      continue;
    }
    ++found;
    auto options = preset.options;
    options.head = Head::kConditional;
    options.vocabulary = wanted->second.first;
    int64_t count = 0;
    for (const auto& tensor : weight_map(options)) {
      int64_t size = tensor.parameter == "logits_bias" ? 0 : 1;
      for (const auto side : tensor.shape) {
        size *= side;
      }
      count += size;
    }
    EXPECT_EQ(count, wanted->second.second) << preset.name;
  }
  EXPECT_EQ(found, published.size());
}

TEST(EncoderDecoderKeys, DecoderFollowsTheEncoderUnlessItSaysOtherwise) {
  auto section = test::section("model", {{"type", "transformer"},
                                         {"dim", "256"},
                                         {"layers", "3"},
                                         {"attention", "{heads: 4}"},
                                         {"feed_forward", "{width: 1024}"},
                                         {"decoder", "{layers: 2}"}});
  const auto options = read_model_options(section);
  EXPECT_EQ(options.decoder.layers, 2);
  EXPECT_EQ(options.decoder.heads, 4);
  EXPECT_EQ(options.decoder.width, 1024);
}

TEST(EncoderDecoderKeys, RefusesATiedOutputLeftAlone) {
  auto section = test::section("model", {{"type", "marian"}, {"tie_word_embeddings", "false"}});
  EXPECT_NE(test::message_of<config::Error>([&] {
              read_model_options(section);
            }).find("allowed is to tie all three, only the decoder's two, or none"),
            std::string::npos);
  auto none = test::section("model", {{"type", "marian"},
                                      {"tie_word_embeddings", "false"},
                                      {"share_encoder_decoder_embeddings", "false"}});
  auto options = read_model_options(none);
  options.vocabulary = 20;
  options.head = Head::kConditional;
  options.dim = 8;
  options.heads = options.decoder.heads = 2;
  const auto model = make_model(options, 1);
  EXPECT_TRUE(model->named_parameters().contains("head.weight"));
  EXPECT_TRUE(model->named_parameters().contains("decoder_embeddings.word.weight"));
}

}  // namespace
}  // namespace weft::models
