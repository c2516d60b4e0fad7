// What a GPU computes is what the CPU computes: recipes of every kind of model and objective learn
// the same on both. Where this build's LibTorch has no CUDA, a pretended GPU stands in for one
// (tests/support/pretended_gpu).
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/recipe.h"
#include "cli/tiny_decoder.h"
#include "support/json_lines.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

/// Variables of the environment with which `weft` finds a GPU; none where LibTorch has CUDA.
std::string setting() {
  const std::string library = WEFT_PRETENDED_GPU;
  return library.empty() ? "" : "LD_PRELOAD='" + library + "'";
}

/// Whether there is neither a real one nor a pretended one.
bool has_no_gpu() {
  static const bool has_none = [] {
    return setting().empty() &&
           Json::parse(test::weft({"doctor", "--json"}).out)["gpus"]["usable"] == 0;
  }();
  return has_none;
}

/// What a run tells of its losses and figures, by step and name.
std::map<std::string, double> figures(const std::string& run) {
  std::map<std::string, double> found;
  for (const auto& row : test::json_lines<Json>(test::contents(run + "/metrics.jsonl"))) {
    for (const auto& [name, value] : row.items()) {
      if (name == "train/loss" || name == "train/grad_norm" || name.starts_with("eval/")) {
        found[row["step"].dump() + " " + name] = value;
      }
    }
  }
  return found;
}

class Gpu : public test::RecipeTest {
 protected:
  void SetUp() override {
    if (has_no_gpu()) {
      GTEST_SKIP() << "LibTorch has CUDA, but this machine has no GPU";
    }
    RecipeTest::SetUp();
  }

  /// Trains in fp32 and returns what the run tells.
  std::map<std::string, double> figures_on(const std::string& device) {
    const auto run = "run-" + device;
    const auto done = weft("train configs/" + GetParam() + ".yaml --output " + run +
                               shortened(test::read_recipe(GetParam())) +
                               " --set train.precision=fp32 --set run.device=" + device,
                           setting());
    EXPECT_EQ(done.status, 0) << device << ": " << done.err;
    return figures(directory_ / run);
  }
};

TEST_P(Gpu, LearnsAsTheCpuDoes) {
  ASSERT_NO_FATAL_FAILURE(prepare(test::read_recipe(GetParam())));
  const auto on_cpu = figures_on("cpu");
  const auto on_gpu = figures_on("cuda");
  ASSERT_FALSE(on_cpu.empty());
  for (const auto& [name, value] : on_cpu) {
    ASSERT_TRUE(on_gpu.contains(name)) << name;
    EXPECT_NEAR(on_gpu.at(name), value, 1e-3 * std::max(1.0, std::abs(value))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         Gpu,
                         ::testing::Values("bert_mini_mlm_nsp_wikitext2",
                                           "char_gpt_shakespeare",
                                           "electra_tiny_novels",
                                           "llama_prefix_multi30k_en_de",
                                           "multi30k_en_de",
                                           "quickstart_names",
                                           "sick_relatedness",
                                           "snli_decomposable_attention",
                                           "spam_bag_of_words",
                                           "t5_mini_span_corruption_wikitext2",
                                           "vit_digits"),
                         [](const auto& parameter) { return parameter.param; });

class GpuResume : public Gpu {};

TEST_P(GpuResume, GoesOnBitForBit) {
  const auto recipe = test::read_recipe(GetParam());
  ASSERT_NO_FATAL_FAILURE(prepare(recipe));
  const auto done =
      weft("train configs/" + GetParam() + ".yaml --verify-resume --steps 4" + shortened(recipe) +
               " --set run.device=cuda --set train.precision=bf16",
           setting());
  EXPECT_EQ(done.status, 0) << done.err;
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         GpuResume,
                         ::testing::Values("bert_mini_mlm_nsp_wikitext2",
                                           "char_gpt_shakespeare",
                                           "vit_digits"),
                         [](const auto& parameter) { return parameter.param; });

TEST(GpuDecoding, SaysWhatTheCpuSays) {
  if (has_no_gpu()) {
    GTEST_SKIP() << "LibTorch has CUDA, but this machine has no GPU";
  }
  const test::TinyDecoder decoder;
  test::write(decoder.file("prompts.jsonl"),
              "{\"prompt\": \"The cat\"}\n{\"prompt\": \"A dog ran over\"}\n");
  for (const std::string options : {"", " --beams 3", " --sample --seed 4"}) {
    std::map<std::string, std::vector<std::string>> said;
    for (const std::string device : {"cpu", "cuda"}) {
      const auto done = test::run(
          {"/bin/sh", "-c",
           setting() + " exec '" WEFT_BINARY "' generate " + decoder.path() + " --input " +
               decoder.file("prompts.jsonl") + " --device " + device + options});
      ASSERT_EQ(done.status, 0) << done.err;
      for (const auto& answer : test::json_lines<Json>(done.out)) {
        said[device].push_back(answer["text"]);
      }
    }
    EXPECT_EQ(said["cpu"].size(), 2U);
    EXPECT_EQ(said["cpu"], said["cuda"]) << options;
  }
}

}  // namespace
}  // namespace weft::cli
