// A GPU computes the same as the CPU: recipes of every kind of model and objective learn
// the same on both, without dropout: the masks of attention weights differ between devices. If this
// build's LibTorch has no CUDA, a fake GPU replaces it (tests/support/fake_gpu).
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

using Json = nlohmann::ordered_json;

/// Environment variables with which `weft` finds a GPU; none if LibTorch has CUDA.
std::string setting() {
  const std::string library = WEFT_FAKE_GPU;
  return library.empty() ? "" : "LD_PRELOAD='" + library + "'";
}

/// Whether there is neither a real GPU nor a fake one.
bool has_no_gpu() {
  static const bool has_none = [] {
    return setting().empty() &&
           Json::parse(test::weft({"doctor", "--json"}).out)["gpus"]["usable"] == 0;
  }();
  return has_none;
}

/// Losses and metrics logged by a run, by step and name.
std::map<std::string, double> metrics(const std::string& run) {
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

  /// Trains without dropout on both devices and compares the logged values.
  void compare(const std::string& precision, double tolerance) {
    const auto recipe = test::read_recipe(GetParam());
    const std::string none = " --set model.dropout=0";
    ASSERT_NO_FATAL_FAILURE(prepare(recipe, none));
    const auto type = test::text_at(recipe, "model.type");
    const bool has_dropout =
        recipe.find("model") != nullptr && type != "bag_of_words" && type != "llama";
    std::map<std::string, std::map<std::string, double>> found;
    for (const std::string device : {"cpu", "cuda"}) {
      const auto run = "run-" + device;
      const auto done =
          weft("train configs/" + GetParam() + ".yaml --output " + run + shortened(recipe) +
                   (has_dropout ? none : "") + " --set train.precision=" + precision +
                   " --set run.device=" + device,
               setting());
      ASSERT_EQ(done.status, 0) << device << ": " << done.err;
      found[device] = metrics(directory_ / run);
    }
    ASSERT_FALSE(found["cpu"].empty());
    for (const auto& [name, value] : found["cpu"]) {
      ASSERT_TRUE(found["cuda"].contains(name)) << name;
      EXPECT_NEAR(found["cuda"].at(name), value, tolerance * std::max(1.0, std::abs(value)))
          << name;
    }
  }
};

TEST_P(Gpu, LearnsAsTheCpuDoes) { compare("fp32", 1e-3); }

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
                                           "t5_mini_span_corruption_multi30k",
                                           "vit_digits"),
                         [](const auto& parameter) { return parameter.param; });

class GpuInBf16 : public Gpu {};

TEST_P(GpuInBf16, LearnsAsTheCpuDoes) { compare("bf16", 2e-2); }

TEST_P(GpuInBf16, ResumesBitForBit) {
  const auto recipe = test::read_recipe(GetParam());
  ASSERT_NO_FATAL_FAILURE(prepare(recipe));
  const auto done =
      weft("train configs/" + GetParam() + ".yaml --verify-resume --steps 4" + shortened(recipe) +
               " --set run.device=cuda --set train.precision=bf16",
           setting());
  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_P(GpuInBf16, IsMeasured) {
  const auto recipe = test::read_recipe(GetParam());
  ASSERT_NO_FATAL_FAILURE(prepare(recipe));
  const auto done = weft("bench configs/" + GetParam() + ".yaml --steps 2 --warmup 1" +
                             shortened(recipe) + " --set run.device=cuda",
                         setting());
  ASSERT_EQ(done.status, 0) << done.err;
  const auto report = Json::parse(done.out);
  EXPECT_EQ(report["device"], "cuda:0");
  EXPECT_GT(report["real_tokens_per_s"], 0.0);
  EXPECT_GT(report["memory_mib"]["optimizer"], 0.0);
  EXPECT_FALSE(report.contains("allocations"));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         GpuInBf16,
                         ::testing::Values("bert_mini_mlm_nsp_wikitext2",
                                           "char_gpt_shakespeare",
                                           "vit_digits"),
                         [](const auto& parameter) { return parameter.param; });

TEST(GpuDoctor, SaysWhatTheGpuHas) {
  if (has_no_gpu()) {
    GTEST_SKIP() << "LibTorch has CUDA, but this machine has no GPU";
  }
  const auto done =
      test::run({"/bin/sh", "-c", setting() + " exec '" WEFT_BINARY "' doctor --json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto gpus = Json::parse(done.out)["gpus"];
  EXPECT_GE(gpus["usable"], 1);
  EXPECT_GT(gpus["tflops"]["bf16"], 0.0);
  EXPECT_TRUE(gpus["flash_attention"].is_boolean());
  if (!setting().empty()) {
    EXPECT_EQ(gpus["flash_attention"], true);
  }
}

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
