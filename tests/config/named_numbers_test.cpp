#include <gtest/gtest.h>

#include "config/reference.h"
#include "config/section.h"
#include "support/config.h"

namespace weft::config {
namespace {

constexpr KeySpec kAbout = {.help = "Weights.", .range = above(0)};

NamedNumbers read_named_numbers(const std::string& value) {
  auto section = test::section("objective", {{"weights", value}});
  NamedNumbers numbers;
  section.read("weights", numbers, {"balanced"}, kAbout);
  section.reject_unread();
  return numbers;
}

std::string mistake(const std::string& value) {
  return test::message_of<Error>([&] { read_named_numbers(value); });
}

TEST(NamedNumbers, AcceptsAWordAMapOrNull) {
  EXPECT_EQ(read_named_numbers("balanced").word, "balanced");
  const auto map = read_named_numbers("{ham: 1, '2': 6.5}");
  EXPECT_EQ(map.numbers, (std::vector<std::pair<std::string, double>>{{"ham", 1}, {"2", 6.5}}));
  EXPECT_EQ(read_named_numbers("none"), NamedNumbers{});
  EXPECT_EQ(read_named_numbers("null"), NamedNumbers{});
}

TEST(NamedNumbers, RefuseOtherWordsAndNumbers) {
  EXPECT_EQ(
      mistake("auto"),
      "test.yaml:1:22: objective.weights: 'auto', must be balanced, null or a map of numbers");
  EXPECT_NE(mistake("{ham: 0}").find("must be a number > 0"), std::string::npos);
  EXPECT_NE(mistake("{ham: x}").find("'x' is not a number"), std::string::npos);
  EXPECT_NE(mistake("[1]").find("a list"), std::string::npos);
}

TEST(NamedNumbers, ResolveToWhatReadsBack) {
  for (const std::string value : {"balanced", "{ham: 1, 'a, b': 6.5}", "null"}) {
    const auto document = Document::parse("weights: " + value, "test.yaml");
    auto root = document.root();
    NamedNumbers first;
    root.read("weights", first, {"balanced"}, kAbout);
    const auto again = Document::parse(document.resolved(), "again.yaml");
    NamedNumbers second;
    again.root().read("weights", second, {"balanced"}, kAbout);
    EXPECT_EQ(first, second) << document.resolved();
  }
}

TEST(NamedNumbers, AreDescribedAsBoth) {
  const auto declarations = collect_declarations([](Section root) {
    NamedNumbers numbers;
    root.read("weights", numbers, {"balanced"}, kAbout);
  });
  EXPECT_EQ(type_of(declarations.keys.front()), "map of numbers or balanced > 0, or null");
  EXPECT_NE(json_schema(declarations).find("additionalProperties"), std::string::npos);
}

}  // namespace
}  // namespace weft::config
