#include "cli/help.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

/// What the command prints to a file with this value of $COLUMNS.
std::string help_of(std::vector<std::string> words,
                    const std::string& option,
                    const char* columns) {
  const auto& command = find_entry(commands(), words.front(), "help_test");
  words.erase(words.begin());
  words.push_back(option);
  ::setenv("COLUMNS", columns, 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(command.run(words), 0);
  ::unsetenv("COLUMNS");
  return testing::internal::GetCapturedStdout();
}

std::vector<std::vector<std::string>> command_lines() {
  std::vector<std::vector<std::string>> all = {{"data", "split"},        {"tokenizer", "train"},
                                               {"tokenizer", "encode"},  {"tokenizer", "decode"},
                                               {"tokenizer", "inspect"}, {"tokenizer", "bench"}};
  for (const auto& command : commands()) {
    all.push_back({command.name});
  }
  return all;
}

TEST(Help, WrapsBelowTheTextBehindAGap) {
  EXPECT_EQ(wrap_lines("  name  one two three\nfour five six", 14),
            "  name  one\n        two\n        three\nfour five six");
  EXPECT_EQ(wrap_lines("four five six", 9), "four five\nsix");
  EXPECT_EQ(wrap_lines("longer_than_the_width and", 5), "longer_than_the_width\nand");
}

TEST(Help, CommandIsNamedByItsUsage) {
  EXPECT_EQ(command_of("weft tokenizer train --input FILE"), "tokenizer train");
  EXPECT_EQ(command_of("weft data build|inspect CONFIG"), "data");
}

TEST(Help, FitsTwoScreensAndTheWidth) {
  for (const auto& command : command_lines()) {
    for (const auto* columns : {"60", "100"}) {
      const auto text = help_of(command, "--help", columns);
      const auto lines = split(text, '\n');
      if (std::string(columns) == "100") {
        EXPECT_LE(lines.size(), 66U) << text;
      }
      for (const auto line : lines) {
        const bool is_command = line.find("weft ") != std::string::npos;  // to be copied as it is
        EXPECT_TRUE(is_command || trim(line).empty() ||
                    line.find_last_not_of(' ') < std::stoul(columns))
            << line;
      }
    }
  }
}

TEST(Help, WidthIsThatOfTheEnvironmentWithinBounds) {
  const auto help = [](const char* columns) { return help_of({"predict"}, "--help", columns); };
  EXPECT_NE(help("60"), help("100"));
  EXPECT_EQ(help("10"), help("60"));
  EXPECT_EQ(help("500"), help("120"));
  EXPECT_EQ(help("wide"), help("100"));
}

TEST(Help, DescriptionsKeepTheirLines) {
  const auto text = help_of({"config"}, "--help", "60");
  EXPECT_NE(text.find("\n\n  check      validates a config and the files that it names,\n"
                      "             as train does"),
            std::string::npos)
      << text;
}

TEST(Help, GroupsKeepTheirFirstPlace) {
  Arguments arguments({"weft command", "", {"weft command"}}, 0, 0);
  arguments.group("First").flag("a-flag", "").group("Second", HelpLevel::kHelpAll);
  arguments.flag("b-flag", "").group("First").flag("c-flag", "");
  testing::internal::CaptureStdout();
  EXPECT_FALSE(arguments.parse({"--help-all"}));
  const auto text = testing::internal::GetCapturedStdout();
  EXPECT_LT(text.find("\nFirst:\n"), text.find("--a-flag"));
  EXPECT_EQ(text.find("\nFirst:\n"), text.rfind("\nFirst:\n"));
  EXPECT_LT(text.find("--c-flag"), text.find("\nSecond:\n"));
  EXPECT_LT(text.find("\nSecond:\n"), text.find("--b-flag"));
}

}  // namespace
}  // namespace weft::cli
