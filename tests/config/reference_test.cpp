#include "config/reference.h"

#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/example.h"
#include "support/config.h"

namespace weft::config {
namespace {

Declarations declarations() {
  return collect_declarations([](Section root) { example::read_example(std::move(root)); });
}

TEST(Describe, CollectsEveryKeyOnceInOrder) {
  const auto all = declarations();
  std::vector<std::string> paths;
  for (const auto& key : all.keys) {
    paths.push_back(key.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"init_from",
                                             "model",
                                             "model.dim",
                                             "model.layers",
                                             "model.feed_forward",
                                             "model.feed_forward.activation",
                                             "model.feed_forward.dropout",
                                             "data",
                                             "data.train",
                                             "data.train.*.path",
                                             "data.train.*.weight",
                                             "data.columns",
                                             "objective",
                                             "objective.type",
                                             "objective.mask_fraction",
                                             "objective.next_sentence",
                                             "train",
                                             "train.duration",
                                             "train.warmup",
                                             "train.evaluate_every",
                                             "train.batch_tokens",
                                             "train.clip_norm",
                                             "train.betas",
                                             "run",
                                             "run.directory",
                                             "run.seed"}));
}

TEST(Describe, MergesTheConditionsOfAKeyReadTwice) {
  const auto both = collect_declarations([](Section root) {
    int64_t value = 0;
    root.read("power", value, {.help = "Exponent.", .only_if = "type: a"});
    root.read("power", value, {.help = "Exponent.", .only_if = "type: b"});
  });
  ASSERT_EQ(both.keys.size(), 1U);
  EXPECT_EQ(both.keys[0].only_if, "type: a or type: b");
}

TEST(Describe, KeysDeclaredElsewhereBelongToTheirSection) {
  const auto inner = collect_declarations([](Section root) {
    double value = 2;
    root.section("curve", {.help = "A curve."}).read("power", value, {.help = "Exponent."});
  });
  const auto outer = collect_declarations(
      [&](Section root) { root.section("schedule", {.help = "Rates."}).declare(inner); });
  ASSERT_NE(outer.find("schedule.curve.power"), nullptr);
  EXPECT_EQ(outer.find("schedule.curve.power")->default_value, "2");
}

TEST(Describe, SectionOfAVariantGivesItsKeysItsCondition) {
  const auto both = collect_declarations([](const Section& root) {
    for (const auto& [condition, rate] :
         {std::pair("type: a", 0.5), std::pair("type: b", 0.5), std::pair("type: c", 0.25)}) {
      auto variant = root.only_with(condition);
      double value = rate;
      variant.read("rate", value, {.help = "Rate."});
    }
  });
  ASSERT_EQ(both.keys.size(), 1U);
  EXPECT_EQ(both.keys[0].only_if, "type: a or type: b or type: c");
  EXPECT_EQ(both.keys[0].help, "Rate. With type: c the default is `0.25`.");
}

TEST(Explain, SaysWithoutWhichKey) {
  EXPECT_EQ(condition_of({.path = "a", .only_if = "type: mlm"}), "with type: mlm");
  EXPECT_EQ(condition_of({.path = "a", .only_if = "no init_from"}), "without init_from");
}

TEST(Explain, DescribesAKey) {
  EXPECT_EQ(explain(declarations(), "model.dim"),
            "model.dim\n  Width of the model.\n  type: integer in [1, 65536] (channels)\n"
            "  default: 64\n");
  EXPECT_EQ(explain(declarations(), "train.evaluate_every"),
            "train.evaluate_every\n  Pause between evaluations.\n"
            "  type: duration (steps, epochs, tokens, seconds, minutes or hours), or never\n  "
            "default: null\n");
  EXPECT_EQ(explain(declarations(), "objective.mask_fraction"),
            "objective.mask_fraction\n  Share of tokens chosen.\n  type: number in [0, 1]\n"
            "  default: 0.15\n  only with type: mlm\n");
  EXPECT_EQ(explain(declarations(), "data.train.0.path"),
            "data.train.*.path\n  A file or pattern.\n  type: text\n  required\n");
  EXPECT_EQ(explain(declarations(), "data.train[3].path"),
            explain(declarations(), "data.train.path"));
}

TEST(Explain, ListsTheKeysOfASection) {
  EXPECT_EQ(explain(declarations(), "model.feed_forward"),
            "model.feed_forward\n  The feed-forward part.\n  type: section\n  keys:\n"
            "  model.feed_forward.activation  gelu  Function between the projections.\n"
            "  model.feed_forward.dropout     0.1   Share of values dropped.\n");
}

TEST(Explain, FindsAKeyByItsLastWord) {
  EXPECT_EQ(explain(declarations(), "activation"),
            explain(declarations(), "model.feed_forward.activation"));
}

TEST(Explain, NamesTheNearestKey) {
  using weft::test::message_of;
  EXPECT_EQ(message_of<Error>([] { explain(declarations(), "model.dmi"); }),
            "config explain: unknown key 'model.dmi', did you mean 'model.dim'?");
  EXPECT_EQ(message_of<Error>([] { explain(declarations(), "activatoin"); }),
            "config explain: unknown key 'activatoin', did you mean 'activation'?");
  EXPECT_EQ(
      message_of<Error>([] { explain(declarations(), "zzzz"); }),
      "config explain: unknown key 'zzzz', `weft config explain` without a key lists all keys");
}

TEST(ReferencePage, ContainsEverySentence) {
  const auto all = declarations();
  const std::string page = reference_page(all);
  for (const auto& key : all.keys) {
    EXPECT_NE(page.find(key.help), std::string::npos) << key.path;
  }
  EXPECT_NE(page.find("## data.train (each item)\n"), std::string::npos);
  EXPECT_NE(page.find("| `activation` | one of relu, gelu, silu | `gelu` | Function between the "
                      "projections. |\n"),
            std::string::npos);
  EXPECT_NE(page.find("Share of tokens chosen. Only with type: mlm. |\n"), std::string::npos);
}

TEST(JsonSchema, NestsAsTheConfigDoes) {
  const auto schema = nlohmann::json::parse(json_schema(declarations()));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], nlohmann::json::parse(R"(["data", "objective"])"));
  const auto& model = schema["properties"]["model"];
  EXPECT_EQ(model["additionalProperties"], false);
  EXPECT_EQ(model["properties"]["dim"], nlohmann::json::parse(R"({"type": "integer",
      "minimum": 1, "maximum": 65536, "description": "Width of the model. In channels.", "default": 64})"));
  EXPECT_EQ(model["properties"]["feed_forward"]["properties"]["activation"]["enum"],
            nlohmann::json::parse(R"(["relu", "gelu", "silu"])"));
  const auto& item = schema["properties"]["data"]["properties"]["train"]["items"];
  EXPECT_EQ(item["required"], nlohmann::json::parse(R"(["path"])"));
  EXPECT_EQ(item["properties"]["weight"]["exclusiveMinimum"], 0);
  const auto& clip = schema["properties"]["train"]["properties"]["clip_norm"];
  EXPECT_EQ(clip["anyOf"][0]["type"], "number");
  EXPECT_EQ(clip["anyOf"][1]["enum"], nlohmann::json::parse(R"([null, "none"])"));
  EXPECT_EQ(schema["properties"]["train"]["properties"]["betas"]["default"],
            nlohmann::json::parse("[0.9, 0.999]"));
  EXPECT_EQ(schema["properties"]["train"]["properties"]["duration"]["default"], "1000 steps");
}

TEST(JsonSchema, SectionsMayBeListsOrNamed) {
  const auto found = collect_declarations([](Section root) {
    auto part = root.section("attention", {.help = "The attention.", .may_be_list = true});
    int64_t heads = 12;
    part.read("heads", heads, {.help = "Number of heads."});
    part.named_sections("layers", {.help = "By layer."});
  });
  const auto attention = nlohmann::json::parse(json_schema(found))["properties"]["attention"];
  EXPECT_EQ(attention["description"], "The attention.");
  const auto& one = attention["anyOf"][0];
  EXPECT_EQ(one["type"], "object");
  EXPECT_EQ(one["properties"]["heads"]["default"], 12);
  EXPECT_EQ(one["properties"]["layers"], nlohmann::json::parse(R"({"type": "object",
      "additionalProperties": {"type": "object"}, "description": "By layer."})"));
  EXPECT_EQ(attention["anyOf"][1]["type"], "array");
  EXPECT_EQ(attention["anyOf"][1]["items"], one);
}

}  // namespace
}  // namespace weft::config
