#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/recipe.h"
#include "cli/tiny_decoder.h"
#include "config/yaml.h"
#include "inference/score_task.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::kSource;
using test::read_recipe;
using test::recipe_names;
using test::text_at;

std::string shared_data() {
  const auto* given = std::getenv("WEFT_SHARED");
  return (given != nullptr ? std::string(given) : kSource + "/../shared") + "/data";
}

class Recipe : public test::RecipeTest {};

TEST_P(Recipe, TrainsTwoSteps) {
  const auto recipe = read_recipe(GetParam());
  const auto file = "configs/" + GetParam() + ".yaml";
  ASSERT_NO_FATAL_FAILURE(prepare(recipe));
  const auto done = weft("train " + file + shortened(recipe));
  ASSERT_EQ(done.status, 0) << done.err;
  const auto run = directory_ / text_at(recipe, "run.directory");
  for (const std::string name : {"model.safetensors", "config.json"}) {
    EXPECT_TRUE(fs::exists(run + "/last/" + name)) << name;
  }
  std::vector<int> steps;
  bool is_evaluated = false;
  for (const auto& row : test::json_lines<Json>(test::contents(run + "/metrics.jsonl"))) {
    if (row.contains("train/loss")) {  // a loss that is not finite is omitted
      steps.push_back(row["step"]);
    }
    is_evaluated |= row.contains("eval/loss");
  }
  EXPECT_EQ(steps, is_counted(recipe) ? std::vector<int>{} : (std::vector<int>{1, 2}));
  EXPECT_TRUE(is_evaluated);
  const auto again = weft("config check " + run + "/config.yaml");
  EXPECT_EQ(again.status, 0) << "the run's own config: " << again.err;
  const auto report = weft("report " + run + " --threads 1 --examples 2");
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_EQ(test::contents(run + "/report.html").find("class=\"note warning\""), std::string::npos)
      << "the page says that something is missing";
  if (fs::exists(shared_data())) {  // the columns must be those of the real files
    fs::remove_all(directory_ / "corpora");
    fs::create_symlink(shared_data(), directory_ / "corpora");
  }
  const auto check = weft("config check " + file);
  EXPECT_EQ(check.status, 0) << check.err;
}

INSTANTIATE_TEST_SUITE_P(Shipped,
                         Recipe,
                         ::testing::ValuesIn(test::all_recipe_names()),
                         [](const auto& parameter) {
                           auto name = parameter.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

TEST(Recipes, NameTheirSchemaForEditors) {
  for (const auto& name : test::all_recipe_names()) {
    const std::string up = name.find('/') != std::string::npos ? "../../" : "../";
    EXPECT_TRUE(
        test::contents(kSource + "/configs/" + name + ".yaml")
            .starts_with("# yaml-language-server: $schema=" + up + "docs/config.schema.json\n"))
        << name;
  }
}

TEST(Recipes, SayHowToRunThemAndShareNoRun) {
  std::set<std::string> directories;
  for (const auto& name : recipe_names("configs")) {
    EXPECT_NE(test::contents(kSource + "/configs/" + name + ".yaml")
                  .find("# Run:    weft train configs/" + name + ".yaml"),
              std::string::npos)
        << name;
    const auto directory = text_at(read_recipe(name), "run.directory");
    EXPECT_TRUE(directories.insert(directory).second) << name << ": " << directory;
  }
}

inference::ScoreTask read_task(const std::string& name) {
  auto root = config::Document::load(kSource + "/configs/score/" + name + ".yaml").root();
  return inference::ScoreTask::read(root);
}

/// A task of `weft score`.
class Task : public ::testing::TestWithParam<std::string> {
 protected:
  Task()
      : file_(kSource + "/configs/score/" + GetParam() + ".yaml"),
        tree_(config::parse_yaml(test::contents(file_), file_)) {}

  /// The values before the equals signs of `words`, label names, or texts.
  std::vector<std::string> values(const std::string& column) const {
    std::vector<std::string> found;
    if (const auto* const words = test::node_at(tree_, "words")) {
      for (const auto& word : words->items) {
        if (word.scalar.starts_with(column + ":")) {
          const auto begin = column.size() + 1;
          found.push_back(word.scalar.substr(begin, word.scalar.find('=') - begin));
        }
      }
    }
    if (found.empty() && column == text_at(tree_, "label")) {
      const auto* const labels = test::node_at(tree_, "labels");
      if (labels == nullptr) {
        return {"0", "1"};
      }
      for (const auto& label : labels->items) {
        found.push_back(label.scalar);
      }
    }
    return found.empty() ? std::vector<std::string>{"The cat sat.", "A dog ran"} : found;
  }

  std::string file_;
  config::Node tree_;
};

TEST_P(Task, ScoresATable) {
  const auto columns = read_task(GetParam()).columns();
  std::string table = join(columns, "\t") + "\n";
  constexpr std::size_t kRows = 6;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (const auto& column : columns) {
      const auto possible = values(column);
      table += (column == columns[0] ? "" : "\t") + possible[row % possible.size()];
    }
    table += "\n";
  }
  const test::TinyDecoder decoder;
  test::write(decoder.file("rows.tsv"), table);
  const auto done = test::weft({"score", decoder.path(), "--task", file_, "--data",
                                decoder.file("rows.tsv"), "--threads", "1"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<Json>(done.out);
  ASSERT_EQ(found.size(), kRows + 1);
  EXPECT_EQ(found.back()["items"], kRows);
  EXPECT_TRUE(found.back().contains("accuracy") && found.back().contains("accuracy_stderr"));
}

INSTANTIATE_TEST_SUITE_P(Shipped,
                         Task,
                         ::testing::ValuesIn(recipe_names("configs/score")),
                         [](const auto& parameter) { return parameter.param; });

TEST(Tasks, SayHowToRunThem) {
  for (const auto& name : recipe_names("configs/score")) {
    EXPECT_NE(test::contents(kSource + "/configs/score/" + name + ".yaml")
                  .find("# Run:    weft score MODEL --task configs/score/" + name + ".yaml"),
              std::string::npos)
        << name;
  }
}

TEST(Tasks, NameColumnsThatTheirTablesHave) {
  if (!fs::exists(shared_data())) {
    GTEST_SKIP() << "their tables are missing: WEFT_SHARED/data does not exist";
  }
  for (const auto& name : recipe_names("configs/score")) {
    const auto task = read_task(name);
    for (const auto& path : task.data()) {
      ASSERT_TRUE(path.starts_with("corpora/")) << path;
      const auto table = test::contents(shared_data() + path.substr(std::string("corpora").size()));
      const auto head = split(std::string_view(table).substr(0, table.find('\n')), '\t');
      for (const auto& column : task.columns()) {
        EXPECT_EQ(std::count(head.begin(), head.end(), column), 1) << path << ": " << column;
      }
    }
  }
}

}  // namespace
}  // namespace weft::cli
