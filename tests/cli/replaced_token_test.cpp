// Two steps of the configs of ELECTRA and DeBERTa, and the other commands with their two models.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct ElectraRecipe {
  std::string name;
  std::string config;
  std::string generator;  // as the log shows it
  std::string generator_class;
};

// Its novels are not at hand everywhere.
const std::string kOnOurTexts =
    " --set 'data.train.0.path=data/corpus/*.txt' --set data.evaluate.0.path=data/held_out.txt "
    "--set tokenizer.vocab_size=2048 --set data.document_boundary=empty_line --set "
    "data.cache_dir=cache ";

class ReplacedToken : public ::testing::TestWithParam<ElectraRecipe> {
 protected:
  ReplacedToken() {
    for (const auto* folder : {"configs", "data"}) {
      fs::create_symlink(std::string(WEFT_SOURCE_DIR "/") + folder, directory_ / folder);
    }
  }

  test::ProcessResult weft(const std::string& arguments) {
    return test::run(
        {"/bin/sh", "-c", "cd '" + directory_.path() + "' && exec '" WEFT_BINARY "' " + arguments});
  }

  bool has(const std::string& file) const { return fs::exists(directory_ / file); }

  test::TemporaryDirectory directory_;
};

TEST_P(ReplacedToken, TwoStepsOfTheRecipeGiveModelsForEveryCommand) {
  const auto trained = weft("train " + GetParam().config + kOnOurTexts +
                            "--set train.duration='2 steps' --set train.schedule.warmup='1 steps' "
                            "--set train.threads=1 --set train.precision=fp32 "
                            "--set run.directory=run");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.err.find("[model] generator of " + GetParam().generator), std::string::npos)
      << trained.err;

  const auto evaluated = weft("evaluate run --data data/held_out.txt");
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_TRUE(nlohmann::json::parse(evaluated.out).contains("eval_discriminator_recall"));

  const auto filled =
      weft("predict run/last/generator --input - <<'END'\n{\"text\": \"a [MASK] day\"}\nEND\n");
  ASSERT_EQ(filled.status, 0) << filled.err;
  EXPECT_EQ(nlohmann::json::parse(filled.out).at("fills").size(), 1U);

  const auto exported = weft("export run --output out --dtype bf16 --check");
  ASSERT_EQ(exported.status, 0) << exported.err;
  for (const auto* file :
       {"config.json", "model.safetensors", "tokenizer.json", "generator/config.json",
        "generator/model.safetensors", "generator/tokenizer.json"}) {
    EXPECT_TRUE(has(std::string("out/") + file)) << file;
  }
  EXPECT_FALSE(has("out/training"));

  const auto imported = weft("import out --output again");
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_TRUE(has("again/generator/model.safetensors"));
  const auto tagger = weft("import out --output tagger --head token --labels O,B,I");
  ASSERT_EQ(tagger.status, 0) << tagger.err;
  EXPECT_FALSE(has("tagger/generator"));

  const auto inspected = weft("inspect run");
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("Generator, " + GetParam().generator_class), std::string::npos);
}

TEST_P(ReplacedToken, TheConfigIsInspectedAndPreviewed) {
  const auto inspected = weft("inspect " + GetParam().config + kOnOurTexts);
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("Generator, " + GetParam().generator_class), std::string::npos);
  EXPECT_NE(inspected.out.find("own parameters"), std::string::npos);
  const auto previewed = weft("data preview " + GetParam().config + kOnOurTexts);
  ASSERT_EQ(previewed.status, 0) << previewed.err;
  EXPECT_NE(previewed.out.find(">[MASK]}"), std::string::npos) << previewed.out;
}

INSTANTIATE_TEST_SUITE_P(
    Recipes,
    ReplacedToken,
    ::testing::Values(ElectraRecipe{"electra", "configs/electra_tiny_novels.yaml",
                                    "2 x 64, 1 heads, feed-forward 256", "ElectraForMaskedLM"},
                      ElectraRecipe{"deberta", "configs/deberta_tiny_novels.yaml",
                                    "1 x 128, 2 heads, feed-forward 512", "DebertaV2ForMaskedLM"}),
    [](const auto& recipe) { return recipe.param.name; });

}  // namespace
}  // namespace weft::cli
