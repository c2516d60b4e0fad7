#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/recipe_files.h"
#include "cli/tiny_decoder.h"
#include "config/yaml.h"
#include "objectives/score_task.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::text_at;

const std::string kSource = WEFT_SOURCE_DIR;

std::string shared_data() {
  const auto* given = std::getenv("WEFT_SHARED");
  return (given != nullptr ? std::string(given) : kSource + "/../shared") + "/data";
}

/// Names of the files of a folder, without their ending.
std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kSource + "/" + folder)) {
    if (entry.path().extension() == ".yaml") {
      found.push_back(entry.path().stem().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

config::Node read_recipe(const std::string& name) {
  const auto file = "configs/" + name + ".yaml";
  return config::parse_yaml(test::contents(kSource + "/" + file), file);
}

/// A working directory as a user has it, but for the texts: small ones stand in `corpora`.
class Recipe : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fs::create_symlink(kSource + "/configs", directory_ / "configs");
    fs::create_symlink(kSource + "/data", directory_ / "data");
  }

  test::Finished weft(const std::string& arguments) {
    return test::run(
        {"/bin/sh", "-c", "cd '" + directory_.path() + "' && exec '" WEFT_BINARY "' " + arguments});
  }

  /// What stands in the recipe, but two steps at once at the full rate, and a vocabulary that so
  /// small texts give.
  static std::string shortened(const config::Node& recipe) {
    std::string options =
        " --set train.duration='2 steps' --set train.schedule.warmup='0 steps'"
        " --set train.log_every='1 steps' --set train.evaluate_every='2 steps'"
        " --set train.save_every=never --set train.threads=1 --set data.cache=cache";
    const auto size = text_at(recipe, "tokenizer.vocab_size");
    if (!size.empty() && std::stoi(size) > 320) {
      options += " --set tokenizer.vocab_size=320";
    }
    return options;
  }

  /// Makes the models that the recipe names, and writes what it reads.
  void prepare(const config::Node& recipe) {
    for (const auto* const key : {"init_from", "objective.teacher"}) {
      if (const auto model = text_at(recipe, key); !model.empty()) {
        ASSERT_NO_FATAL_FAILURE(provide(model));
      }
    }
    test::RecipeFiles(recipe, directory_.path()).write();
  }

  /// The run of the recipe that says that it makes this directory; a small encoder of as many
  /// positions instead of a public one.
  void provide(const std::string& model) {
    if (fs::exists(directory_ / model)) {
      return;
    }
    std::string maker = "quickstart_pretrain";
    std::string options = " --set model.position.length=512";
    for (const auto& name : names("configs")) {
      if (text_at(read_recipe(name), "run.directory") == model) {
        maker = name;
        options = "";
      }
    }
    const auto recipe = read_recipe(maker);
    ASSERT_NO_FATAL_FAILURE(prepare(recipe));
    const auto done =
        weft("train configs/" + maker + ".yaml --output " + model + shortened(recipe) + options);
    ASSERT_EQ(done.status, 0) << maker << ": " << done.err;
  }

  test::TemporaryDirectory directory_;
};

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
    if (row.contains("train/loss")) {  // a loss that is not finite is left out
      steps.push_back(row["step"]);
    }
    is_evaluated |= row.contains("eval/loss");
  }
  EXPECT_EQ(steps, (std::vector<int>{1, 2}));
  EXPECT_TRUE(is_evaluated);
  if (fs::exists(shared_data())) {  // the columns are to be those of the real files
    fs::remove_all(directory_ / "corpora");
    fs::create_symlink(shared_data(), directory_ / "corpora");
  }
  const auto check = weft("config check " + file);
  EXPECT_EQ(check.status, 0) << check.err;
}

INSTANTIATE_TEST_SUITE_P(Shipped,
                         Recipe,
                         ::testing::ValuesIn(names("configs")),
                         [](const auto& parameter) { return parameter.param; });

TEST(Recipes, SayHowToRunThemAndShareNoRun) {
  std::set<std::string> seen;
  for (const auto& name : names("configs")) {
    EXPECT_NE(test::contents(kSource + "/configs/" + name + ".yaml")
                  .find("# Run:    weft train configs/" + name + ".yaml"),
              std::string::npos)
        << name;
    const auto directory = text_at(read_recipe(name), "run.directory");
    EXPECT_TRUE(seen.insert(directory).second) << name << ": " << directory;
  }
}

objectives::ScoreTask read_task(const std::string& name) {
  auto root = config::Document::load(kSource + "/configs/score/" + name + ".yaml").root();
  return objectives::ScoreTask::read(root);
}

/// A task of `weft score`.
class Task : public ::testing::TestWithParam<std::string> {
 protected:
  Task()
      : file_(kSource + "/configs/score/" + GetParam() + ".yaml"),
        tree_(config::parse_yaml(test::contents(file_), file_)) {}

  /// The values that stand before the equals signs of `words`, the names of labels, or texts.
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
                         ::testing::ValuesIn(names("configs/score")),
                         [](const auto& parameter) { return parameter.param; });

TEST(Tasks, SayHowToRunThem) {
  for (const auto& name : names("configs/score")) {
    EXPECT_NE(test::contents(kSource + "/configs/score/" + name + ".yaml")
                  .find("# Run:    weft score MODEL --task configs/score/" + name + ".yaml"),
              std::string::npos)
        << name;
  }
}

TEST(Tasks, NameColumnsThatTheirTablesHave) {
  if (!fs::exists(shared_data())) {
    GTEST_SKIP() << "their tables are not at hand: WEFT_SHARED/data is missing";
  }
  for (const auto& name : names("configs/score")) {
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
