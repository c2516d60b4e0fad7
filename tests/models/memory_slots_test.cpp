#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/tiny.h"
#include "nn/sublayer.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

/// Models whose layers read memory slots (nn/attention/memory/slot_memory.h).
namespace weft::models {
namespace {

ModelOptions options_with_slots(const std::string& family,
                                Head head,
                                const std::vector<std::string>& slots = {"3"}) {
  auto options = test::tiny_options(family_named(family), head);
  options.norm_placement = NormPlacement::kPre;
  auto& types = options.layer_types;
  types.block = "amf";
  for (const auto& count : slots) {
    auto section = test::section("model.memory", {{"slots", count}, {"segment", "4"}});
    types.sublayers["memory"].cycle.push_back(nn::read_component(section, *nn::find_sublayer('m')));
  }
  return options;
}

TextInput text_with_slots() { return {.ids = at::arange(10, at::kLong) * 7 % 17 + 1}; }

std::string refusal(const ModelOptions& options) {
  return test::message_of<config::Error>([&] { make_model(options, 1); });
}

TEST(ModelWithMemorySlots, IsStoredWithItsKeys) {
  for (const auto& [family, head] :
       {std::pair{"gpt2", Head::kCausalLm}, std::pair{"bert", Head::kMaskedLm},
        std::pair{"gpt2", Head::kSequence}}) {
    const auto model = make_model(options_with_slots(family, head), 1);
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    const auto loaded = load_model(folder.path(), read_model_config(folder.path()), 9);
    EXPECT_TRUE(loaded.missing_keys.empty() && loaded.unexpected_keys.empty());
    EXPECT_EQ(loaded.model->options().layer_types, model->options().layer_types);
    const auto context = test::context_of({0, 9, 10});
    EXPECT_TRUE(at::equal(loaded.model->hidden(text_with_slots(), context),
                          model->hidden(text_with_slots(), context)));
  }
}

TEST(ModelWithMemorySlots, TheyStartDifferent) {
  const auto model = make_model(options_with_slots("gpt2", Head::kCausalLm), 1);
  const auto bias = model->named_parameters()["layers.memory.update.bias"];
  EXPECT_GT((bias[0] - bias[1]).abs().max().item<double>(), 0);
}

TEST(ModelWithMemorySlots, OptionsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(refusal(options_with_slots("gpt2", Head::kCausalLm, {"3", "4"})),
            "model.memory: must be the same in all layers, which read one memory");
  auto seq2seq = options_with_slots("bart", Head::kConditional);
  seq2seq.layer_types.block = "amcf";
  seq2seq.decoder = {.layers = 2, .heads = 2, .width = 12};
  EXPECT_EQ(refusal(seq2seq),
            "model.block: memory slots are for models without a decoder that reads an encoder");
  auto exits = options_with_slots("bert", Head::kSequence);
  exits.early_exit = EarlyExitOptions{};
  EXPECT_EQ(refusal(exits),
            "model.early_exit: is not possible with sub-layers that read memory slots");
  auto distilled = options_with_slots("bert", Head::kSequence);
  distilled.layer_types.block = "amfd amf";
  auto section = test::section("model.distilling");
  distilled.layer_types.sublayers["distilling"].cycle = {
      nn::read_component(section, *nn::find_sublayer('d'))};
  EXPECT_EQ(refusal(distilled),
            "model.block: sub-layers that shorten texts are not possible with sub-layers that read "
            "memory slots");
}

/// What reading `model: {type: gpt2, ...}` says, without the place in the file.
std::string section_message(const std::string& keys) {
  const auto message = test::message_of<config::Error>([&] {
    const auto document = config::Document::parse("model: {type: gpt2, " + keys + "}", "test.yaml");
    auto root = document.root();
    auto section = root.section("model", {.help = ""});
    read_model_options(section);
  });
  return message.substr(message.find(": ") + 2);
}

TEST(ModelWithMemorySlots, KeysThatDoNotGoTogetherAreRefused) {
  const std::string carries =
      "' reads segments of the texts, which is not possible with other layers that carry a state "
      "or memory from step to step";
  EXPECT_EQ(section_message("block: amf, attention: {type: transformer_xl}"),
            "model.block: 'amf" + carries);
  EXPECT_EQ(section_message("block: amrf"), "model.block: 'amrf" + carries);
  EXPECT_EQ(section_message("memory: {slots: 4}"),
            "model.memory: has no effect without `m` in block");
  EXPECT_EQ(section_message("block: amf, memory: {unroll: 2}"),
            "model.memory.unroll: found 2, must be 1 without segment");
  EXPECT_EQ(section_message("block: amf, memory: {replay: true}"),
            "model.memory.replay: has no effect without segment");
  EXPECT_EQ(section_message("block: amf, memory: {segment: 8, write: grru}"),
            "model.memory.write: 'grru' is not one of attention_norm, gru");
  EXPECT_EQ(section_message("block: amf, residual: {type: reversible}"),
            "model.residual.type: reversible is not possible with layers that carry a "
            "state from step to step");
  EXPECT_EQ(section_message("block: amf, layerdrop: 0.1"),
            "model.layerdrop: is not possible with layers that carry a state or "
            "memory from step to step");
}

}  // namespace
}  // namespace weft::models
