#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/recipe_files.h"
#include "config/yaml.h"
#include "support/program.h"

namespace weft::test {

inline const std::string kSource = WEFT_SOURCE_DIR;

/// Names of the YAML files of a folder of the repository, without their ending.
inline std::vector<std::string> recipe_names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/" + folder)) {
    if (entry.path().extension() == ".yaml") {
      found.push_back(entry.path().stem().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Those of configs/, configs/ladder, configs/attention and configs/blocks.
inline std::vector<std::string> all_recipe_names() {
  auto names = recipe_names("configs");
  for (const std::string folder : {"ladder", "attention", "blocks"}) {
    for (const auto& name : recipe_names("configs/" + folder)) {
      names.push_back(folder + "/" + name);
    }
  }
  return names;
}

inline config::Node read_recipe(const std::string& name) {
  const auto file = "configs/" + name + ".yaml";
  return config::parse_yaml(contents(kSource + "/" + file), file);
}

/// A recipe in a working directory as a user has it, except for the texts: small ones replace
/// `corpora`.
class RecipeTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::create_symlink(kSource + "/configs", directory_ / "configs");
    std::filesystem::create_symlink(kSource + "/data", directory_ / "data");
  }

  /// `setting`: variables of the environment, as a shell has them.
  ProcessResult weft(const std::string& arguments, const std::string& setting = "") {
    return run(
        {"/bin/sh", "-c",
         "cd '" + directory_.path() + "' && " + setting + " exec '" WEFT_BINARY "' " + arguments});
  }

  /// Whether the model is estimated in one pass, without training steps.
  static bool is_counted(const config::Node& recipe) {
    return text_at(recipe, "model.type") == "ngram";
  }

  /// The recipe, but with two steps at the full learning rate, and a vocabulary that such
  /// small texts give.
  static std::string shortened(const config::Node& recipe) {
    if (is_counted(recipe)) {
      return " --set train.threads=1 --set data.cache_dir=cache";
    }
    std::string options =
        " --set train.duration='2 steps' --set train.schedule.warmup='0 steps'"
        " --set train.log_every='1 steps' --set train.evaluate_every='2 steps'"
        " --set train.save_every=never --set train.threads=1 --set data.cache_dir=cache";
    const auto size = text_at(recipe, "tokenizer.vocab_size");
    if (!size.empty() && std::stoi(size) > 320) {
      options += " --set tokenizer.vocab_size=320";
    }
    if (!text_at(recipe, "data.streams").empty()) {
      options += " --set data.streams=2 --set train.batch_sequences=2 --set data.length=16";
    }
    if (text_at(recipe, "model.output.type") == "adaptive") {
      options += " --set model.output.cutoffs='[10, 20]'";
    }
    if (text_at(recipe, "model.output.type") == "shortlist") {
      options += " --set model.output.shortlist=10";
    }
    return options;
  }

  /// Creates the models that the recipe uses, with additional options, and writes its input files.
  void prepare(const config::Node& recipe, const std::string& options = "") {
    for (const auto* const key : {"init_from", "objective.teacher", "model.output.ngram"}) {
      if (const auto model = text_at(recipe, key); !model.empty()) {
        ASSERT_NO_FATAL_FAILURE(provide(model, options));
      }
    }
    RecipeFiles(recipe, directory_.path()).write();
  }

  TemporaryDirectory directory_;

 private:
  /// The run of the recipe that says that it makes this directory; a small encoder of as many
  /// positions instead of a public one.
  void provide(const std::string& model, const std::string& more) {
    if (std::filesystem::exists(directory_ / model)) {
      return;
    }
    std::string maker = "quickstart_pretrain";
    std::string options = more + " --set model.position.length=512";
    for (const auto& name : recipe_names("configs")) {
      if (text_at(read_recipe(name), "run.directory") == model) {
        maker = name;
        options = more;
      }
    }
    const auto recipe = read_recipe(maker);
    ASSERT_NO_FATAL_FAILURE(prepare(recipe, more));
    const auto done =
        weft("train configs/" + maker + ".yaml --output " + model + shortened(recipe) + options);
    ASSERT_EQ(done.status, 0) << maker << ": " << done.err;
  }
};

}  // namespace weft::test
