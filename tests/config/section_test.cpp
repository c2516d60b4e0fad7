#include "config/section.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/example.h"
#include "config/state.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::config {
namespace {

using weft::test::message_of;
using weft::test::section;

example::Example read_section(const std::string& yaml,
                              const std::vector<std::string>& overrides = {}) {
  return example::read_example(Document::parse(yaml, "test.yaml", overrides).root());
}

TEST(Section, KeepsValuesWithoutTheirKey) {
  const auto example = read_section("data: {train: [{path: a}]}\nobjective: {type: causal}");
  EXPECT_EQ(example.dim, 64);
  EXPECT_EQ(example.activation, example::Activation::kGelu);
  EXPECT_EQ(example.kind, example::Kind::kCausal);
  EXPECT_EQ(example.evaluate_every, std::nullopt);
  EXPECT_EQ(example.batch_tokens, 8192);
  EXPECT_EQ(example.train.at(0).weight, 1.0);
}

TEST(Section, OverridesBeginAList) {
  for (const std::string data : {"{}", "{train: []}", "{train: }"}) {
    const auto example = read_section("data: " + data + "\nobjective: {type: causal}",
                                      {"data.train.0.path=b", "data.train.1.path=c"});
    ASSERT_EQ(example.train.size(), 2U) << data;
    EXPECT_EQ(example.train[1].path, "c");
  }
}

TEST(Section, ReadsEveryKindOfValue) {
  const auto example = read_section(
      "init_from: runs/b\n"
      "model: {dim: 1e3, layers: +7, feed_forward: {activation: \"silu\", dropout: .5}}\n"
      "data:\n  columns: [a, \"b c\", 5]\n  train:\n    - path: 'x: y'\n      weight: 3\n    - "
      "{path: z}\n"
      "objective: {type: mlm, next_sentence: True}\n"
      "train: {duration: 10M tokens, warmup: 0 steps, evaluate_every: 5 minutes, batch_tokens: "
      "null, "
      "clip_norm: none, betas: [0.5, 1e-1]}\n"
      "run: {seed: 4294967295, directory: 0123}\n");
  EXPECT_EQ(example.init_from, "runs/b");
  EXPECT_EQ(example.dim, 1000);
  EXPECT_EQ(example.layers, 7);
  EXPECT_EQ(example.activation, example::Activation::kSilu);
  EXPECT_EQ(example.dropout, 0.5);
  EXPECT_EQ(example.columns, (std::vector<std::string>{"a", "b c", "5"}));
  ASSERT_EQ(example.train.size(), 2U);
  EXPECT_EQ(example.train[0].path, "x: y");
  EXPECT_EQ(example.train[0].weight, 3.0);
  EXPECT_TRUE(example.next_sentence);
  EXPECT_EQ(example.duration, (Duration{1e7, DurationUnit::kTokens}));
  EXPECT_EQ(example.evaluate_every, (Duration{5, DurationUnit::kMinutes}));
  EXPECT_EQ(example.batch_tokens, std::nullopt);
  EXPECT_EQ(example.clip_norm, std::nullopt);
  EXPECT_EQ(example.betas, (std::vector<double>{0.5, 0.1}));
  EXPECT_EQ(example.seed, 4294967295);
  EXPECT_EQ(example.directory, "0123");
}

TEST(Section, TakesWordsForNothingOnlyWhereNothingIsAllowed) {
  const std::string rest = "\ndata: {train: [{path: none}]}\nobjective: {type: mlm}\n";
  EXPECT_EQ(read_section("train: {evaluate_every: never}" + rest).evaluate_every, std::nullopt);
  EXPECT_EQ(read_section("train: {evaluate_every: null}" + rest).evaluate_every, std::nullopt);
  EXPECT_EQ(read_section("init_from: none" + rest).init_from, std::nullopt);
  EXPECT_EQ(read_section("init_from: \"none\"" + rest).init_from, "none");
  EXPECT_EQ(read_section("init_from: \"null\"" + rest).init_from, "null");
  EXPECT_EQ(read_section("init_from: never" + rest).init_from, "never");
  EXPECT_EQ(read_section(rest).train.at(0).path, "none");
}

TEST(Section, ReadsAliasesAsTheirValues) {
  const auto example = read_section(
      "run: {directory: &name runs/x}\ninit_from: *name\n"
      "data: {train: [&one {path: a}, *one]}\nobjective: {type: mlm}\n");
  EXPECT_EQ(example.init_from, "runs/x");
  ASSERT_EQ(example.train.size(), 2U);
  EXPECT_EQ(example.train[1].path, "a");
}

TEST(Section, KnowsWhatIsThere) {
  const auto part = section("model", {{"dim", "1"}, {"layers", ""}});
  EXPECT_TRUE(part.has("dim"));
  EXPECT_FALSE(part.has("layers"));  // null
  EXPECT_FALSE(part.has("width"));
  EXPECT_EQ(part.path(), "model");
  EXPECT_FALSE(part.is_documenting());
}

TEST(Section, ReportsTheKeyOrItsOwnLocation) {
  const auto part = section("model.attention", {{"heads", "5"}});
  EXPECT_EQ(message_of<Error>([&] { part.fail("heads", "5 do not divide 64"); }),
            "test.yaml:1:28: model.attention.heads: 5 do not divide 64");
  EXPECT_EQ(message_of<Error>([&] { part.fail("dropout", "is wrong"); }),
            "test.yaml:1:9: model.attention.dropout: is wrong");
  EXPECT_EQ(message_of<Error>([&] { part.fail("", "is wrong"); }),
            "test.yaml:1:9: model.attention: is wrong");
}

TEST(Section, RefusesKeysThatNobodyRead) {
  auto part = section("model", {{"dim", "1"}});
  EXPECT_EQ(message_of<Error>([&] { part.reject_unread(); }),
            "test.yaml:1:9: model.dim: unknown key 'dim', allowed: none");
}

TEST(Document, TakesByteOrderMarkAndForeignLineEnds) {
  std::string yaml = "\xEF\xBB\xBF" + example::good_file();
  for (std::size_t at = 0; (at = yaml.find('\n', at)) != std::string::npos; at += 2) {
    yaml.insert(at, "\r");
  }
  EXPECT_EQ(read_section(yaml).train.at(0).path, "a.txt");
  EXPECT_EQ(message_of<Error>([&] { read_section(yaml + "\r\nx: 1\r\n"); }).substr(0, 16),
            "test.yaml:13:1: ");
}

TEST(Document, LoadsAFileByName) {
  const weft::test::Folder folder;
  const std::string path = folder.write("a.yaml", "run: {sed: 1}");
  EXPECT_EQ(Document::load(path).root().path(), "");
  EXPECT_THROW(Document::load(folder.path("none.yaml")), FileError);
  EXPECT_THROW(Document::load(folder.path()), FileError);
  EXPECT_THROW(Document::load("/dev/zero"), FileError);
}

TEST(Overrides, ReplaceAndAdd) {
  const std::string yaml = example::good_file();
  EXPECT_EQ(read_section(yaml, {"model.dim=128"}).dim, 128);
  EXPECT_EQ(read_section(yaml, {"model.dim=128", "model.dim= 256 "}).dim, 256);
  EXPECT_EQ(read_section(yaml, {"train.betas=[0.1, 0.2]"}).betas, (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(read_section(yaml, {"train.duration=3 epochs"}).duration.amount, 3);
  EXPECT_EQ(read_section(yaml, {"train.evaluate_every="}).evaluate_every, std::nullopt);
  EXPECT_EQ(read_section(yaml, {"run.directory=a=b"}).directory, "a=b");
  EXPECT_EQ(read_section(yaml, {"data.train.0.weight=5"}).train.at(0).weight, 5.0);
  EXPECT_EQ(
      read_section(yaml, {"data.train.1={path: b}", "data.train.1.weight=7"}).train.at(1).weight,
      7.0);
  EXPECT_EQ(read_section(yaml, {"model={dim: 8}"}).layers, 2);
  EXPECT_EQ(read_section("", {"data.train=[{path: a}]", "objective.type=mlm"}).train.at(0).path,
            "a");
}

TEST(Overrides, AreNamedInErrors) {
  const std::string yaml = example::good_file();
  const auto said = [&](const std::string& set) {
    return message_of<Error>([&] { read_section(yaml, {set}); });
  };
  EXPECT_EQ(
      said("model.dim=x"),
      "--set model.dim=x: model.dim: 'x' is not an integer, must be an integer in [1, 65536]");
  EXPECT_EQ(said("model.dimm=5"),
            "--set model.dimm=5: model.dimm: unknown key 'dimm', did you mean 'dim'? allowed: dim, "
            "layers, feed_forward");
  EXPECT_EQ(said("model.dim.x=5"),
            "--set model.dim.x=5: model.dim: '64' is not a map, 'x' cannot be set below it");
  EXPECT_EQ(said("data.train.2.path=b"),
            "--set data.train.2.path=b: data.train: a list of 1, '2' is not the index of an item "
            "(from 0) nor the next free index");
  EXPECT_EQ(said("data.train.x=b"),
            "--set data.train.x=b: data.train: a list of 1, 'x' is not the index of an item (from "
            "0) nor the next free index");
  EXPECT_EQ(said("model"), "--set model: must be key=value, as in train.optimizer.lr=1e-4");
  EXPECT_EQ(said("=1"), "--set =1: must be key=value, as in train.optimizer.lr=1e-4");
  EXPECT_EQ(said("model..dim=1"),
            "--set model..dim=1: model: an empty key between dots, must be key=value, as in "
            "train.optimizer.lr=1e-4");
  EXPECT_EQ(said("model={dim: 1, dim: 2}"),
            "--set model={dim: 1, dim: 2}: model.dim: 'dim' is duplicated");
  EXPECT_EQ(said("model={dim"),
            "--set model={dim: model: a list or map as a key, a key must be text (or a bracket is "
            "not closed)");
}

TEST(Resolved, HasEveryKeyAndRoundTrips) {
  const auto document =
      Document::parse(example::good_file(), "test.yaml",
                      {"run.directory=\"1: \\\"odd\\\"\\n\\\\ name\"", "data.train.1={path: none}",
                       "train.clip_norm=null", "data.columns=[yes, \"a, b\", x*]",
                       "model.feed_forward.dropout=1e-5"});
  example::read_example(document.root());
  const std::string once = document.resolved();
  EXPECT_EQ(once,
            "init_from: null\n"
            "model:\n"
            "  dim: 64\n"
            "  layers: 2\n"
            "  feed_forward:\n"
            "    activation: gelu\n"
            "    dropout: 1.0e-05\n"
            "data:\n"
            "  train:\n"
            "    - path: a.txt\n"
            "      weight: 2\n"
            "    - path: \"none\"\n"
            "      weight: 1\n"
            "  columns: [\"yes\", \"a, b\", \"x*\"]\n"
            "objective:\n"
            "  type: mlm\n"
            "  mask_fraction: 0.15\n"
            "  next_sentence: false\n"
            "train:\n"
            "  duration: 100 steps\n"
            "  warmup: 0 steps\n"
            "  evaluate_every: 50 steps\n"
            "  batch_tokens: 8192\n"
            "  clip_norm: null\n"
            "  betas: [0.9, 0.999]\n"
            "run:\n"
            "  directory: \"1: \\\"odd\\\"\\n\\\\ name\"\n"
            "  seed: 1\n");
  const auto again = Document::parse(once, "again.yaml");
  const auto example = example::read_example(again.root());
  EXPECT_EQ(again.resolved(), once);
  EXPECT_EQ(example.directory, "1: \"odd\"\n\\ name");
  EXPECT_EQ(example.columns, (std::vector<std::string>{"yes", "a, b", "x*"}));
}

TEST(Section, RenamedKeysSuggestTheCurrentNames) {
  EXPECT_EQ(renamed_key("model.deviation"), "init_std");
  EXPECT_EQ(renamed_key("data.train.3.white"), "max_pixel_value");
  EXPECT_EQ(renamed_key("train.deviation"), "");
  auto section = test::section("train", {{"checkpoint_activations", "layers"}});
  std::string mode;
  EXPECT_EQ(
      message_of<Error>([&] {
        section.read("gradient_checkpointing", mode, {.help = "A key with a new name."});
        section.reject_unread();
      }),
      "test.yaml:1:9: train.checkpoint_activations: unknown key 'checkpoint_activations', did "
      "you mean 'gradient_checkpointing'? allowed: gradient_checkpointing");
}

TEST(Section, UnusedKeysAreRejectedIfGivenAndElseNotInTheResolvedConfig) {
  const auto read = [](Section root) {
    int64_t value = 0;
    root.read("a", value, {.help = "A."});
    auto below = root.section("b", {.help = "B."});
    below.read("c", value, {.help = "C."});
    below.read("d", value, {.help = "D."});
    below.reject_unread();
    for (const auto* key : {"a", "b.d", "b.none", "none.c"}) {
      root.reject_unused(key, "has no effect");
    }
    root.reject_unread();
  };
  const auto document = Document::parse("b: {c: 2}\n", "test.yaml");
  document.read(read);
  EXPECT_EQ(document.resolved(), "b:\n  c: 2\n");
  for (const auto* given : {"a: 1\n", "b: {d: 1}\n"}) {
    EXPECT_THROW(Document::parse(given, "test.yaml").read(read), Error) << given;
  }
}

}  // namespace
}  // namespace weft::config
