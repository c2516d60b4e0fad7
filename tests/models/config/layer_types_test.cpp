#include "models/config/layer_types.h"

#include <mutex>

#include <gtest/gtest.h>

#include "formats/json.h"
#include "models/directory.h"
#include "models/weights/weight_map.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/pooling/pooling.h"
#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/config.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

/// Each token receives the projected mean of its sequence, times `gain`.
class MeanAttention : public nn::Attention {
 public:
  MeanAttention(const nn::AttentionOptions& options, double gain) : gain_(gain) {
    value_ =
        register_module("value", nn::Linear(nn::LinearOptions{options.dim, options.dim, false}));
  }

  at::Tensor forward(const at::Tensor& x, const nn::ForwardContext& context) override {
    const auto means = nn::pool(x, context.layout, nn::SentencePooling::kMean);  // (B, D)
    const auto lengths = context.layout.device_offsets.diff();
    return gain_ * value_->forward(means).repeat_interleave(lengths, 0);  // (N, D)
  }

 private:
  double gain_;
  nn::Linear value_{nullptr};
};

nn::AttentionMaker read_mean_attention(config::Section& section) {
  double gain = 1;
  section.read("gain", gain, {.help = "Factor.", .range = config::above(0)});
  return [gain](const nn::AttentionOptions& options) {
    return std::make_shared<MeanAttention>(options, gain);
  };
}

/// ALiBi with the same slope for all heads.
nn::PositionMaker read_even_position(config::Section& section) {
  double slope = 1;
  section.read("slope", slope, {.help = "Slope.", .range = config::above(0)});
  return [slope](const nn::PositionOptions& options) {
    const std::vector<double> slopes(static_cast<std::size_t>(options.heads), slope);
    return nn::alibi_position({.slopes = slopes})(options);
  };
}

void register_own_types() {
  static std::once_flag once;
  std::call_once(once, [] {
    nn::register_attention({"mean", read_mean_attention});
    nn::register_position({{"even", read_even_position}, /*has_limit=*/false});
    nn::register_norm({"own", [](config::Section&) { return nn::NormMaker(nn::make_rms_norm); }});
  });
}

ModelOptions read_layers(const std::string& keys) {
  register_own_types();
  const auto document = config::Document::parse("model:\n" + keys, "test.yaml");
  auto root = document.root();
  auto section = root.section("model", {.help = ""});
  auto options = read_model_options(section);
  options.vocabulary = 11;
  options.head = Head::kMaskedLm;
  return options;
}

const std::string kTinyLayers = "  dim: 8\n  layers: 3\n  feed_forward: {width: 12}\n";
const std::string kTinyBert = kTinyLayers + "  position: {length: 16}\n";

std::string layers_message(const std::string& keys) {
  return test::message_of<config::Error>([&] { read_layers(keys); });
}

std::vector<std::string> layer_names(const ModelOptions& options) {
  std::vector<std::string> names;
  for (const auto& item : make_model(options, 1)->named_parameters()) {
    if (item.key().ends_with("attention.value.weight") ||
        item.key().ends_with("attention.qkv.weight")) {
      names.push_back(item.key());
    }
  }
  return names;
}

TEST(LayerTypes, ARegisteredTypeServesAllLayers) {
  const auto options = read_layers(kTinyBert + "  attention: {heads: 2, type: mean, gain: 3}\n");
  ASSERT_EQ(options.layer_types.attention.cycle.size(), 1U);
  EXPECT_EQ(options.layer_types.attention.cycle[0].keys, R"({"gain":3})");
  EXPECT_EQ(layer_names(options), (std::vector<std::string>{"layers.0.attention.value.weight",
                                                            "layers.1.attention.value.weight",
                                                            "layers.2.attention.value.weight"}));
}

TEST(LayerTypes, AListIsCycledAndRangesReplaceSingleLayers) {
  const std::vector<std::string> mixed = {"layers.0.attention.value.weight",
                                          "layers.1.attention.qkv.weight",
                                          "layers.2.attention.value.weight"};
  EXPECT_EQ(
      layer_names(read_layers(kTinyBert + "  attention: [{heads: 2, type: mean}, {type: full}]\n")),
      mixed);
  EXPECT_EQ(
      layer_names(read_layers(
          kTinyBert + "  attention: {heads: 2, type: mean, layers: {\"1\": {type: window}}}\n")),
      mixed);
  EXPECT_EQ(
      layer_names(read_layers(kTinyBert + "  attention: {heads: 2, layers: {\"0\": {type: mean}, "
                                          "\"2-2\": {type: mean, gain: 2}}}\n")),
      mixed);
}

TEST(LayerTypes, WrongKeysAreNamedWithTheirPlace) {
  EXPECT_NE(layers_message(kTinyBert + "  attention: {heads: 2, type: means}\n").find("mean"),
            std::string::npos);
  EXPECT_NE(layers_message(kTinyBert + "  attention: {heads: 2, type: mean, gains: 2}\n")
                .find("did you mean 'gain'?"),
            std::string::npos);
  EXPECT_NE(
      layers_message(kTinyBert + "  attention: [{heads: 2, type: full}, {type: mean, gain: -1}]\n")
          .find("model.attention.1.gain"),
      std::string::npos);
  EXPECT_NE(layers_message(kTinyBert + "  attention: {heads: 2, layers: {\"1-3\": {type: mean}}}\n")
                .find("within 0-2"),
            std::string::npos);
  EXPECT_NE(
      layers_message(kTinyBert + "  attention: {heads: 2}\n  block: fxf\n").find("letter 'x'"),
      std::string::npos);
  EXPECT_NE(
      layers_message(kTinyBert + "  attention: {heads: 2}\n  block: acf\n").find("cross attention"),
      std::string::npos);
}

TEST(LayerTypes, ASublayerReadsASectionOfItsOwn) {
  const auto options =
      read_layers(kTinyBert + "  attention: {heads: 2}\n  block: rf\n  recurrent: {width: 6}\n");
  const auto parameters = make_model(options, 1)->named_parameters();
  EXPECT_EQ(parameters["layers.2.recurrent.output.weight"].sizes(), (at::IntArrayRef{8, 6}));
  const std::string without = kTinyBert + "  attention: {heads: 2}\n";
  EXPECT_NE(layers_message(without + "  recurrent: {width: 6}\n")
                .find("recurrent: has no effect without `r` in block"),
            std::string::npos);
  EXPECT_NE(layers_message(without + "  block: rf\n  recurrent: {widht: 6}\n")
                .find("did you mean 'width'?"),
            std::string::npos);
}

TEST(LayerTypes, AModelBeyondItsFamilyIsSavedAndLoaded) {
  for (const std::string keys :
       {"  attention: {heads: 2, type: mean, gain: 3, layers: {\"1\": {type: window, window: "
        "3}}}\n",
        "  attention: {heads: 2}\n  block: faf\n",
        "  attention: {heads: 2}\n  block: rfr\n  recurrent: [{width: 6}, {width: 5}]\n",
        "  attention: {heads: 2}\n  block: arf\n", "  attention: {heads: 2}\n  norm: {type: rms}\n",
        "  attention: {heads: 2}\n  position: {length: 16, type: alibi, slopes: [0.5, 2]}\n",
        "  attention: {heads: 2}\n  position: [{type: t5, length: 16, num_buckets: 8}, {type: "
        "learned}]\n",
        "  attention: [{heads: 2, type: mean}, {type: full}]\n  block: aff\n"}) {
    const bool has_positions = keys.find("position:") != std::string::npos;
    const auto options = read_layers((has_positions ? kTinyLayers : kTinyBert) + keys);
    const auto model = make_model(options, 7);
    test::fill_parameters(*model);
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    const auto json = formats::read_json(folder.path("config.json"), 1 << 20);
    EXPECT_EQ(json.at("model_type"), "weft");
    EXPECT_EQ(json.at("base_model_type"), "bert");
    const auto stored = read_model_config(folder.path());
    EXPECT_EQ(stored.layer_types, options.layer_types) << keys;
    const auto loaded = load_model(folder.path(), stored, 1);
    EXPECT_TRUE(loaded.missing_keys.empty() && loaded.unexpected_keys.empty()) << keys;
    const TextInput input{.ids = at::tensor({3, 4, 5, 6, 7}, at::kLong)};
    const auto context = test::context_of({0, 2, 5});
    EXPECT_TRUE(at::equal(loaded.model->hidden(input, context), model->hidden(input, context)))
        << keys;
  }
}

TEST(LayerTypes, PositionsAreOneTypeOrAListOfAllThatApply) {
  const auto types_of = [](const std::string& position) {
    std::vector<std::string> types;
    for (const auto& choice : position_choices(read_layers(
             kTinyLayers + "  attention: {heads: 2}\n  position: " + position + "\n"))) {
      types.push_back(choice.type);
    }
    return types;
  };
  using Types = std::vector<std::string>;
  EXPECT_EQ(types_of("{length: 9}"), Types{"learned"});
  EXPECT_EQ(types_of("{type: none}"), Types{"none"});
  EXPECT_EQ(types_of("[{type: learned, length: 9}, {type: alibi}]"), (Types{"learned", "alibi"}));
  EXPECT_EQ(position_limit(read_layers(kTinyBert + "  attention: {heads: 2}\n")), 16);
}

TEST(LayerTypes, ImpossiblePositionsAreConfigErrors) {
  const auto message = [](const std::string& attention, const std::string& position) {
    return test::message_of<config::Error>([&] {
      make_model(read_layers(kTinyLayers + "  attention: " + attention +
                             "\n  position: " + position + "\n"),
                 1);
    });
  };
  EXPECT_NE(message("{heads: 2}", "{type: alibbi}").find("alibi"), std::string::npos);
  EXPECT_NE(message("{heads: 2}", "[{type: none}, {type: none}]")
                .find("model.position.1.type: found 'none' twice"),
            std::string::npos);
  EXPECT_NE(message("{heads: 2}", "{type: alibi, slopes: [1, 2, 3]}")
                .find("model.position.slopes: found 3 slopes, must be one for each of 2 heads"),
            std::string::npos);
  EXPECT_NE(message("{heads: 8}", "{type: rotary}")
                .find("model.position.type: rotary rotates 1 of the 1 features"),
            std::string::npos);
  EXPECT_NE(message("{heads: 2}", "{type: alibi, sinusoidal_init: true}").find("sinusoidal_init"),
            std::string::npos);
  for (const std::string type : {"mean", "linformer"}) {
    EXPECT_NE(message("{heads: 2, type: " + type + "}", "{type: alibi}")
                  .find("model.position: changes the attention scores"),
              std::string::npos)
        << type;
  }
}

at::Tensor hidden_with_position(const std::string& position, const std::string& norm = "layer") {
  const auto model =
      make_model(read_layers(kTinyLayers + "  attention: {heads: 2}\n  position: " + position +
                             "\n  norm: {type: " + norm + "}\n"),
                 7);
  return model->hidden({.ids = at::tensor({3, 4, 5, 6, 7}, at::kLong)},
                       test::context_of({0, 2, 5}));
}

TEST(LayerTypes, RegisteredPositionsAndNormsServeTheWholeModel) {
  const auto expected = hidden_with_position("{type: alibi, slopes: [0.5, 0.5]}", "rms");
  EXPECT_TRUE(at::equal(hidden_with_position("{type: even, slope: 0.5}", "own"), expected));
  EXPECT_FALSE(test::near(hidden_with_position("{type: even, slope: 2}", "own"), expected));
  EXPECT_FALSE(test::near(hidden_with_position("{type: even, slope: 0.5}"), expected));
}

TEST(LayerTypes, AListOfOneTypeIsThatType) {
  const auto hidden = [](const std::string& position) { return hidden_with_position(position); };
  EXPECT_TRUE(at::equal(hidden("[{type: learned, length: 16}]"), hidden("{length: 16}")));
  EXPECT_FALSE(
      test::near(hidden("[{type: learned, length: 16}, {type: alibi}]"), hidden("{length: 16}")));
}

TEST(LayerTypes, AStandardModelKeepsItsModelType) {
  const auto options = read_layers(kTinyBert + "  attention: {heads: 2, type: full}\n");
  EXPECT_TRUE(options.layer_types.empty());
  const test::Folder folder;
  save_model(folder.path(), *make_model(options, 7), formats::DType::kF32);
  const auto json = formats::read_json(folder.path("config.json"), 1 << 20);
  EXPECT_EQ(json.at("model_type"), "bert");
  EXPECT_FALSE(json.contains("weft_layer_types"));
}

TEST(LayerTypes, AnUnknownTypeInADirectoryIsNamed) {
  const auto message = test::message_of<UserError>([] {
    read_layer_types({{"attention", {{"cycle", {{{"type", "meant"}}}}}}}, "config.json");
  });
  EXPECT_NE(message.find("config.json"), std::string::npos);
  EXPECT_NE(message.find("found 'meant'"), std::string::npos);
  EXPECT_NE(message.find("window"), std::string::npos);
  EXPECT_NE(test::message_of<UserError>([] {
              read_layer_types({{"block", "rf"}}, "config.json");
            }).find("recurrent"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::models
