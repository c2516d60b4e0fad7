// Invalid configs: each message has its location, what was found, and what is
// allowed.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/example.h"
#include "config/section.h"
#include "support/config.h"

namespace weft::config {
namespace {

using weft::test::message_of;

std::string message(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return message_of<Error>(
      [&] { example::read_example(Document::parse(yaml, "test.yaml", overrides).root()); });
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string yaml = example::good_file();
  const auto at = yaml.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? yaml : yaml.replace(at, from.size(), to);
}

struct Case {
  std::string from;
  std::string to;
  std::string message;
};

void expect_messages(const std::vector<Case>& cases) {
  ASSERT_EQ(message(example::good_file()), "(nothing was thrown)");
  for (const auto& [from, to, expected] : cases) {
    EXPECT_EQ(message(replaced(from, to)), "test.yaml:" + expected) << to;
  }
}

TEST(ConfigErrors, NameUnknownKeysAndTheNearest) {
  expect_messages({
      {"layers:", "layer:",
       "3:3: model.layer: unknown key 'layer', did you mean 'layers'? allowed: dim, layers, "
       "feed_forward"},
      {"activation:", "activaton:",
       "4:18: model.feed_forward.activaton: unknown key 'activaton', did you mean 'activation'? "
       "allowed: activation, dropout"},
      {"dropout:", "hidden:",
       "4:36: model.feed_forward.hidden: unknown key 'hidden', allowed: activation, dropout"},
      {"weight:", "wieght:",
       "6:25: data.train.0.wieght: unknown key 'wieght', did you mean 'weight'? allowed: path, "
       "weight"},
      {"run:", "Run:",
       "11:1: Run: unknown key 'Run', did you mean 'run'? allowed: init_from, model, data, "
       "objective, train, run"},
  });
}

TEST(ConfigErrors, TreatATypoAsTheMissingRequiredKey) {
  expect_messages({
      {"objective:", "objectives:",
       "7:1: objectives: unknown key 'objectives', did you mean 'objective'?"},
      {"type: mlm", "typ: mlm", "7:13: objective.typ: unknown key 'typ', did you mean 'type'?"},
      {"path:", "pth:", "6:12: data.train.0.pth: unknown key 'pth', did you mean 'path'?"},
  });
}

TEST(ConfigErrors, ExplainABackslashThatIsNoEscape) {
  const std::string meaning =
      "not valid YAML: an invalid escape after '\\'; write '\\\\', or use single quotes";
  for (const std::string path : {R"("C:\data.txt")", "\"a\\\u00e9.txt\""}) {
    const auto found = message(replaced("path: a.txt", "path: " + path));
    EXPECT_NE(found.find(meaning), std::string::npos) << found;
  }
}

TEST(ConfigErrors, NameWhatIsMissing) {
  expect_messages({
      {"path: a.txt, ", "", "6:11: data.train.0.path: missing, but required"},
      {"type: mlm, ", "", "7:1: objective.type: missing, but required"},
      {"[{path: a.txt, weight: 2.0}]", "[]",
       "6:3: data.train: an empty list, must have at least one map"},
      {"  train: [{path: a.txt, weight: 2.0}]", "  columns: [a]",
       "5:1: data.train: missing, but required"},
  });
  EXPECT_EQ(message("model: {dim: 64}"), "test.yaml: data: missing, but required");
}

TEST(ConfigErrors, NameWrongTypes) {
  expect_messages({
      {"dim: 64", "dim: sixty-four",
       "2:8: model.dim: 'sixty-four' is not an integer, must be an integer in [1, 65536]"},
      {"layers: 2", "layers: 2.5",
       "3:11: model.layers: '2.5' is not an integer, must be an integer >= 1"},
      {"layers: 2", "layers: 1e3x",
       "3:11: model.layers: '1e3x' is not an integer, must be an integer >= 1"},
      {"layers: 2", "layers: 0x10",
       "3:11: model.layers: '0x10' is not an integer, must be an integer >= 1"},
      {"layers: 2", "layers: \"2\"",
       "3:11: model.layers: '2' is quoted and therefore text, must be an integer >= 1"},
      {"layers: 2", "layers:", "3:3: model.layers: null, must be an integer >= 1"},
      {"layers: 2", "layers: ~", "3:3: model.layers: null, must be an integer >= 1"},
      {"dim: 64", "dim: {size: 64}", "2:3: model.dim: a map, must be an integer in [1, 65536]"},
      {"feed_forward: {activation: gelu, dropout: 0.1}", "feed_forward: [gelu]",
       "4:3: model.feed_forward: a list, must be a map of keys"},
      {"{type: mlm, mask_fraction: 0.15, next_sentence: false}", "5",
       "7:12: objective: '5', must be a map of keys"},
      {"next_sentence: false", "next_sentence: maybe",
       "7:60: objective.next_sentence: 'maybe' is not true or false"},
      {"next_sentence: false", "next_sentence: \"true\"",
       "7:60: objective.next_sentence: 'true' is quoted and therefore text, must be true or false"},
      {"[{path: a.txt, weight: 2.0}]", "17",
       "6:10: data.train: '17', must be a list of maps, as in [{path: a.txt}]"},
      {"[{path: a.txt, weight: 2.0}]", "[17]", "6:11: data.train.0: '17', must be a map of keys"},
      {"directory: runs/a", "directory: [a]", "11:7: run.directory: a list, must be text"},
      {"duration: 100 steps", "betas: 0.9",
       "9:10: train.betas: '0.9', must be a list, as in [a, b]"},
      {"duration: 100 steps", "betas: [0.9, x]",
       "9:16: train.betas: 'x' is not a number, must be a number in [0, 1)"},
  });
}

TEST(ConfigErrors, NameValuesOutOfRange) {
  expect_messages({
      {"dim: 64", "dim: -64", "2:8: model.dim: -64, must be an integer in [1, 65536]"},
      {"dim: 64", "dim: 4000000000",
       "2:8: model.dim: 4000000000, must be an integer in [1, 65536]"},
      {"dim: 64", "dim: 99999999999999999999999999",
       "2:8: model.dim: '99999999999999999999999999' is too large, must be an integer in [1, "
       "65536]"},
      {"dim: 64", "dim: 1e400",
       "2:8: model.dim: '1e400' is too large, must be an integer in [1, 65536]"},
      {"dim: 64", "dim: 010",
       "2:8: model.dim: '010' has leading zeros, must be an integer in [1, 65536] without leading "
       "zeros"},
      {"layers: 2", "layers: 0", "3:11: model.layers: 0, must be an integer >= 1"},
      {"weight: 2.0", "weight: 0", "6:33: data.train.0.weight: 0, must be a number > 0"},
      {"weight: 2.0", "weight: -1e-4", "6:33: data.train.0.weight: -1e-4, must be a number > 0"},
      {"weight: 2.0", "weight: .nan",
       "6:33: data.train.0.weight: '.nan' is not finite, must be a number > 0"},
      {"weight: 2.0", "weight: .inf",
       "6:33: data.train.0.weight: '.inf' is not finite, must be a number > 0"},
      {"weight: 2.0", "weight: 1e999",
       "6:33: data.train.0.weight: '1e999' is too large, must be a number > 0"},
      {"mask_fraction: 0.15", "mask_fraction: 15",
       "7:39: objective.mask_fraction: 15, must be a number in [0, 1]"},
      {"dropout: 0.1", "dropout: 1",
       "4:45: model.feed_forward.dropout: 1, must be a number in [0, 1)"},
      {"seed: 1", "seed: -1", "11:32: run.seed: -1, must be an integer >= 0"},
  });
}

TEST(ConfigErrors, NameWrongWords) {
  expect_messages({
      {"activation: gelu", "activation: gleu",
       "4:30: model.feed_forward.activation: 'gleu' is not one of relu, gelu, silu"},
      {"activation: gelu", "activation: [gelu]",
       "4:18: model.feed_forward.activation: a list, must be one of relu, gelu, silu"},
      {"activation: gelu", "activation: null",
       "4:18: model.feed_forward.activation: null, must be one of relu, gelu, silu"},
  });
}

TEST(ConfigErrors, SuggestAWordWhereThereAreMany) {
  Choices<int> many;
  for (const std::string_view word :
       {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}) {
    many.emplace_back(word, static_cast<int>(many.size()));
  }
  auto section = weft::test::section("model", {{"preset", "seben"}});
  int chosen = 0;
  EXPECT_EQ(
      message_of<Error>([&] { section.read_choice("preset", chosen, many, {.help = "One."}); }),
      "test.yaml:1:17: model.preset: 'seben' is not one of one, two, three, four, five, six, "
      "seven, eight, nine, did you mean 'seven'?");
}

TEST(ConfigErrors, NameWrongDurations) {
  const std::string allowed =
      ", must be a number with the unit steps, epochs, tokens, seconds, minutes or hours, as in "
      "2000 steps or 10M tokens";
  expect_messages({
      {"100 steps", "100 stepps",
       "9:13: train.duration: '100 stepps' has an unknown unit (did you mean 'steps'?)" + allowed},
      {"evaluate_every: 50 steps", "evaluate_every: 50",
       "10:19: train.evaluate_every: '50' has no unit" + allowed},
      {"100 steps", "0 steps", "9:13: train.duration: '0 steps', must be more than 0"},
      {"100 steps", "-5 epochs", "9:13: train.duration: '-5 epochs', must be more than 0"},
      {"100 steps", "for ever", "9:13: train.duration: 'for ever' is not a duration" + allowed},
      {"100 steps", "1.5 steps",
       "9:13: train.duration: '1.5 steps', must be a whole number of steps"},
      {"100 steps", "[1]", "9:3: train.duration: a list, must be a duration such as 2000 steps"},
      {"100 steps", "never", "9:13: train.duration: 'never' is not a duration" + allowed},
  });
}

TEST(ConfigErrors, NameRepeatedKeys) {
  expect_messages({
      {"  layers: 2\n", "  dim: 128\n", "3:3: model.dim: 'dim' is duplicated, first in line 2"},
      {"seed: 1", "seed: 1, seed: 2", "11:35: run.seed: 'seed' is duplicated, first in line 11"},
      {"run: {directory: runs/a, seed: 1}\n", "run: {}\nrun: {}\n",
       "12:1: run: 'run' is duplicated, first in line 11"},
      {"weight: 2.0", "\"path\": b",
       "6:25: data.train.0.path: 'path' is duplicated, first in line 6"},
  });
}

TEST(ConfigErrors, RefuseWhatOnlySomeReadersUnderstand) {
  expect_messages({
      {"feed_forward: {activation: gelu, dropout: 0.1}",
       "feed_forward:\n    <<: {activation: gelu}",
       "5:5: model.feed_forward.<<: merge keys ('<<') are not allowed, write the keys out"},
      {"layers: 2", "layers: !!python/object:os.system 2",
       "3:11: model.layers: type tags are not allowed, found '!!python/object:os.system'"},
      {"layers: 2", "layers: !!int 2",
       "3:11: model.layers: type tags are not allowed, found '!!int'"},
      {"layers: 2", "layers: !own 2",
       "3:11: model.layers: type tags are not allowed, found '!own'"},
      {"layers: 2", "? [a]\n  : 2",
       "3:5: model: a list or map as a key, a key must be text (or a bracket is not closed)"},
      {"layers: 2", "~: 2", "3:3: model: null as a key, a key must be text"},
      {"run: {directory: runs/a, seed: 1}\n", "---\nrun: {}\n",
       "11:1: a second document begins here, only one is allowed per file"},
      {"layers: 2", "layers: *depth",
       "3:11: not valid YAML: an alias ('*name') of an anchor that is not defined above"},
  });
}

TEST(ConfigErrors, ExplainWrongSyntax) {
  const auto begins = [](const std::string& yaml, const std::string& expected) {
    const std::string said = message(yaml);
    EXPECT_EQ(said.substr(0, expected.size()), expected) << said;
  };
  begins(replaced("  layers:", "   layers:"),
         "test.yaml:3:10: not valid YAML: ':' is not allowed here");
  begins(replaced("layers: 2", "layers:2"), "test.yaml:4:15: not valid YAML: ':' is not allowed");
  begins(replaced("0.1}", "0.1"), "test.yaml:5:5: not valid YAML: a '{' is not closed");
  begins(replaced("  dim:", "\tdim:"), "test.yaml:2:1: not valid YAML: a tab in the indentation");
  begins(replaced("runs/a", "\"runs/a"),
         "test.yaml:12:1: not valid YAML: the text ends, but a '{', '[' or quote is not closed");
}

TEST(ConfigErrors, RefuseWhatIsNotText) {
  using namespace std::string_literals;
  EXPECT_EQ(message("model: {dim: 1}\nx: \xC3\xA9\xFF\n"),
            "test.yaml:2:5: bytes that are not UTF-8, must be text in UTF-8");
  EXPECT_EQ(message("model:\n  dim: 1\0\n"s),
            "test.yaml:2:9: a control character (byte 0), must be text");
  EXPECT_EQ(message("\x1B[0m"), "test.yaml:1:1: a control character (byte 27), must be text");
}

TEST(ConfigErrors, RefuseFilesThatAreNotMaps) {
  const std::string rest = ", must be a map of keys (model, data, train, ...)";
  EXPECT_EQ(message(""), "test.yaml:1:1: the file is empty" + rest);
  EXPECT_EQ(message("# only a comment\n"), "test.yaml:1:1: the file is empty" + rest);
  EXPECT_EQ(message("---\n...\n"), "test.yaml:1:1: the file is empty" + rest);
  EXPECT_EQ(message("- a\n- b\n"), "test.yaml:1:1: a list at the top level" + rest);
  EXPECT_EQ(message("words\n"), "test.yaml:1:1: 'words' at the top level" + rest);
}

TEST(ConfigErrors, CountColumnsInCharacters) {
  EXPECT_EQ(
      message(
          "\xEF\xBB\xBFrun: {directory: \"\xC3\xA9\xC3\xA9\", sed: 1}\ndata: {train: [{path: a}]}\n"
          "objective: {type: mlm}\n"),
      "test.yaml:1:24: run.sed: unknown key 'sed', did you mean 'seed'? allowed: directory, seed");
}

TEST(ConfigErrors, StayOneLineOfLimitedLength) {
  const std::string said =
      message(replaced("runs/a, seed: 1", "a, seed: \"" + std::string(5000, 'x') + "\\n\\e[1m\""));
  EXPECT_LT(said.size(), 300U);
  EXPECT_EQ(said.find('\n'), std::string::npos);
  const std::string key = message(replaced("seed: 1", std::string(500, 'y') + ": 1"));
  EXPECT_LT(key.size(), 500U);
}

TEST(ConfigErrors, KeepAnchorsFromGrowing) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int item = 0; item < 10; ++item) {
      bomb += (item > 0 ? ", " : "") + below;
    }
    bomb += "]\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(message(bomb).find("more than 10000 values"), std::string::npos);
  EXPECT_EQ(message("model: &m {dim: *m}"),
            "test.yaml:1:17: model.dim: an alias inside of its own anchor, must refer to a "
            "completed value");
  EXPECT_NE(message("model: " + std::string(20000, '[') + std::string(20000, ']'))
                .find("nested deeper than 64 levels"),
            std::string::npos);
  std::string nested;
  for (int depth = 0; depth < 200; ++depth) {
    nested += std::string(static_cast<std::size_t>(depth), ' ') + "k:\n";
  }
  EXPECT_NE(message(nested).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace weft::config
