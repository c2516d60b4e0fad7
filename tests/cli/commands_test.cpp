#include "cli/commands.h"

#include <gtest/gtest.h>

#include "support/program.h"

namespace weft::cli {
namespace {

TEST(Commands, HelpOfEachShowsAnExample) {
  for (const auto& command : commands()) {
    const auto done = test::weft({command.name, "--help"});
    EXPECT_EQ(done.status, 0) << command.name << ": " << done.err;
    EXPECT_NE(done.out.find("Usage: weft " + command.name), std::string::npos) << command.name;
    EXPECT_NE(done.out.find("Examples:\n  "), std::string::npos) << command.name;
  }
}

TEST(Commands, RareOptionsAreInHelpAll) {
  const auto help = test::weft({"generate", "--help"}).out;
  EXPECT_NE(help.find("\nSampling:\n"), std::string::npos) << help;
  EXPECT_EQ(help.find("--bad-word"), std::string::npos) << help;
  EXPECT_NE(help.find("\nweft generate --help-all shows "), std::string::npos) << help;
  const auto all = test::weft({"generate", "--help-all"}).out;
  EXPECT_NE(all.find("\nConstraints:\n"), std::string::npos) << all;
  EXPECT_NE(all.find("--bad-word"), std::string::npos) << all;
  EXPECT_EQ(all.find("--help-all shows"), std::string::npos) << all;
}

TEST(Commands, HelpListsAll) {
  const auto done = test::weft({"help"});
  EXPECT_EQ(done.status, 0);
  for (const auto& command : commands()) {
    const auto group = done.out.find("\n" + command.group + ":\n");
    ASSERT_NE(group, std::string::npos) << command.group;
    EXPECT_NE(done.out.find("\n  " + command.name + " ", group), std::string::npos) << command.name;
  }
}

TEST(Commands, MistypedCommandGetsTheRightOne) {
  const auto done = test::weft({"trian"});
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.err.rfind("error: weft: unknown command 'trian', did you mean 'train'?", 0), 0U)
      << done.err;
}

TEST(Arguments, UnknownOptionGetsTheRightOne) {
  const auto done = test::weft({"export", "model", "--ouput", "x"});
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.err, "error: weft export: unknown option '--ouput', did you mean '--output'?\n");
}

TEST(Arguments, ConfigKeysAreNoOptions) {
  EXPECT_EQ(test::weft({"train", "a.yaml", "--epochs", "3"}).err,
            "error: weft train: unknown option '--epochs'; keys of the config are set with --set "
            "KEY=VALUE, see `weft train --help-all`\n");
  EXPECT_EQ(test::weft({"--verison"}).err,
            "error: weft: unknown option '--verison', did you mean '--version'? allowed: --help, "
            "--version\n");
}

TEST(Arguments, KeepRepeatedValuesWithCommasWhole) {
  Arguments arguments({"weft command", "", {"weft command"}}, 0, 1);
  arguments.value("set", "K=V", "").flag("quick", "");
  ASSERT_TRUE(arguments.parse({"--set", "a=[1,2]", "file", "--set=b=3", "--quick"}));
  EXPECT_EQ(arguments.all("set"), (std::vector<std::string>{"a=[1,2]", "b=3"}));
  EXPECT_EQ(arguments.positional(), std::vector<std::string>{"file"});
  EXPECT_TRUE(arguments.has("quick"));
}

TEST(Arguments, RefuseWrongNumbersAndCounts) {
  Arguments arguments({"weft command", "", {"weft command"}}, 0, 0);
  arguments.value("count", "N", "");
  ASSERT_TRUE(arguments.parse({"--count", "12x"}));
  EXPECT_THROW(arguments.integer("count", 1, 0, 100), UsageError);
  Arguments strict({"weft command", "", {"weft command"}}, 1, 1);
  EXPECT_THROW(strict.parse({}), UsageError);
}

}  // namespace
}  // namespace weft::cli
