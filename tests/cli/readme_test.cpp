#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
const std::string kReadmeSource = WEFT_SOURCE_DIR;

/// The lines of the README's blocks that are marked as shell.
std::vector<std::string> shell_lines() {
  std::istringstream readme(test::contents(kReadmeSource + "/README.md"));
  std::vector<std::string> lines;
  bool is_shell = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) {
      is_shell = line == "```sh";
    } else if (is_shell && !line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// All matches of the pattern's first group.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
       ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

TEST(Readme, BeginsWithTheTwoCommands) {
  const auto lines = shell_lines();
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "scripts/quickstart");
  EXPECT_EQ(lines[1], "scripts/test");
}

TEST(Readme, CommandsAndTheirOptionsExist) {
  int commands = 0;
  for (const auto& line : shell_lines()) {
    for (const auto& words : matches(line, "(?:^|\\| |&& )weft ([^|&]*)")) {
      ++commands;
      const auto help = test::weft({words.substr(0, words.find(' ')), "--help-all"});
      EXPECT_EQ(help.status, 0) << line << "\n" << help.err;
      for (const auto& option : matches(words, "(--[a-z-]+)")) {
        EXPECT_NE(help.out.find(option), std::string::npos)
            << line << ": " << option << " is not in the help";
      }
    }
  }
  EXPECT_GT(commands, 10);
}

TEST(Readme, ScriptsAndFilesExist) {
  for (const auto& line : shell_lines()) {
    for (const auto& script : matches(line, "(?:^| )(scripts/[a-z_.]+)")) {
      EXPECT_EQ(::access((kReadmeSource + "/" + script).c_str(), X_OK), 0)
          << script << " cannot be run";
    }
    for (const auto& file : matches(line, " ((?:configs|data)/[a-z0-9_./]+)")) {
      EXPECT_TRUE(fs::exists(kReadmeSource + "/" + file)) << line;
    }
  }
  for (const auto& file :
       matches(test::contents(kReadmeSource + "/README.md"), "\\]\\(([^)#:]+)\\)")) {
    EXPECT_TRUE(fs::exists(kReadmeSource + "/" + file)) << "the README links to " << file;
  }
}

TEST(Readme, EveryCommandHasAnExampleInItsHelp) {
  for (const auto& command : commands()) {
    const auto help = test::weft({command.name, "--help"});
    EXPECT_EQ(help.status, 0) << command.name << ": " << help.err;
    EXPECT_NE(help.out.find("weft " + command.name), std::string::npos) << command.name;
    EXPECT_TRUE(help.err.empty()) << command.name << ": " << help.err;
  }
}

}  // namespace
}  // namespace weft::cli
