#include "support/config.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/commands.h"
#include "config/reference.h"
#include "support/folder.h"
#include "train/run/run_config.h"

namespace weft::cli {
namespace {

using test::message_of;

config::Declarations declarations() {
  return config::collect_declarations(train::describe_run_config);
}

std::string source(const std::string& path) { return WEFT_SOURCE_DIR "/" + path; }

TEST(ConfigReference, IsCurrentInDocs) {
  EXPECT_TRUE(read_file(source("docs/config.md")) == config::reference_page(declarations()))
      << "regenerate it: weft config reference > docs/config.md";
}

TEST(ConfigReference, HasACurrentSchemaBesideIt) {
  EXPECT_TRUE(read_file(source("docs/config.schema.json")) == config::json_schema(declarations()))
      << "regenerate it: weft config schema > docs/config.schema.json";
}

TEST(SupportPage, IsCurrentInDocs) {
  EXPECT_TRUE(read_file(source("docs/support.md")) == support_page())
      << "regenerate it: weft config support > docs/support.md";
}

TEST(ConfigReference, DescribesEveryKey) {
  std::set<std::string> paths;
  for (const auto& key : declarations().keys) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_GT(key.help.size(), 10U) << key.path;
    EXPECT_EQ(key.help.find('\n'), std::string::npos) << key.path;
  }
  for (const auto* path :
       {"init_from", "model.attention.heads", "tokenizer.vocab_size", "data.train.*.path",
        "objective.mask_fraction", "train.optimizer.lr", "run.keep.best"}) {
    EXPECT_EQ(paths.count(path), 1U) << path;
  }
}

TEST(ForeignTerms, NameKeysAndWordsThatExist) {
  const auto known = declarations();
  for (const auto& key : config::foreign_keys()) {
    EXPECT_NE(known.find(key.path), nullptr) << key.name << ": " << key.path;
  }
  EXPECT_GE(config::foreign_keys().size(), 100U);
  for (const auto& value : config::foreign_values()) {
    const auto* key = known.find(value.path);
    ASSERT_NE(key, nullptr) << value.path;
    EXPECT_EQ(std::ranges::count(key->choices, value.choice), 1) << value.path << value.choice;
    EXPECT_EQ(std::ranges::count(key->choices, value.word), 0) << value.path << value.word;
  }
}

TEST(ForeignTerms, DoNotHideKeys) {
  for (const auto& key : config::foreign_keys()) {
    const auto explained = config::explain(declarations(), key.name);
    EXPECT_NE(explained.find(key.path), std::string::npos) << key.name;
  }
}

/// A small config that can be used directly, with its text.
std::string write_small_config(const test::Folder& folder) {
  const std::string text = folder.write("a.txt", "one\ntwo\n");
  return folder.write("run.yaml",
                      "model: {preset: bert-mini}\n"
                      "tokenizer: {type: wordpiece, vocab_size: 400, train_on: data}\n"
                      "data:\n  train: [{path: " +
                          text +
                          "}]\n"
                          "objective: {type: mlm}\n"
                          "train: {duration: 10 steps}\n"
                          "run: {directory: " +
                          folder.path("runs") + "}\n");
}

std::string output_of(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  run_config(arguments);
  return testing::internal::GetCapturedStdout();
}

TEST(ConfigCommand, ChecksAndCreatesNothing) {
  const test::Folder folder;
  const std::string path = write_small_config(folder);
  EXPECT_EQ(output_of({"check", path}), path + ": ok\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path("runs")));
  EXPECT_EQ(message_of<config::Error>([&] {
              run_config({"check", path, "--set", "run.seed=-1"});
            }),
            "--set run.seed=-1: run.seed: -1, must be an integer >= 0");
}

TEST(ConfigCommand, ShowsAConfigThatReadsBackToTheSame) {
  const test::Folder folder;
  const std::string shown =
      output_of({"show", write_small_config(folder), "--set", "train.optimizer.lr=3e-4"});
  EXPECT_NE(shown.find("lr: 3.0e-04\n"), std::string::npos) << shown;
  EXPECT_EQ(output_of({"show", folder.write("shown.yaml", shown)}), shown);
}

TEST(ConfigCommand, ExplainsKeys) {
  EXPECT_NE(output_of({"explain", "train.optimizer.lr"}).find("type: number > 0\n"),
            std::string::npos);
  EXPECT_NE(output_of({"explain"}).find("  run.keep.best "), std::string::npos);
  EXPECT_EQ(
      message_of<config::Error>([] {
        run_config({"explain", "train.optimizer.lrr"});
      }),
      "config explain: unknown key 'train.optimizer.lrr', did you mean 'train.optimizer.lr'?");
}

TEST(ConfigCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(message_of<UsageError>([] {
              run_config({"chek", "a"});
            }),
            "weft config: unknown action 'chek', did you mean 'check'? allowed: check, show, "
            "explain, reference, schema, support");
  EXPECT_EQ(message_of<UsageError>([] { run_config({"check"}); }),
            "weft config check: 0 arguments, must be: weft config check FILE [--set key=value]");
  EXPECT_EQ(message_of<UsageError>([] {
              run_config({"reference", "x"});
            }),
            "weft config reference: 1 argument, must be: weft config reference");
  EXPECT_EQ(message_of<UsageError>([] {
              run_config({"schema", "--set", "a=1"});
            }),
            "weft config schema: --set works only with check and show");
}

}  // namespace
}  // namespace weft::cli
