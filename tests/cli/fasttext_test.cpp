#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFastTextFolder = std::string(WEFT_SOURCE_DIR) + "/tests/reference/fasttext/";

class FastTextImport : public ::testing::TestWithParam<std::string> {};

TEST_P(FastTextImport, PredictsAsFastText) {
  const test::TemporaryDirectory directory;
  const auto imported =
      test::run({WEFT_BINARY, "import", kFastTextFolder + GetParam(), "--output", directory / "m"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const auto expected = Json::parse(test::contents(kFastTextFolder + "expected.json"));
  std::string lines;
  for (const auto& text : expected["texts"]) {
    lines += Json{{"text", text}}.dump() + "\n";
  }
  test::write(directory / "texts.jsonl", lines);
  const auto done = test::run({WEFT_BINARY, "predict", directory / "m", "--input",
                               directory / "texts.jsonl", "--output", "-"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<Json>(done.out);
  const auto& predictions = expected["predictions"][GetParam()];
  ASSERT_EQ(found.size(), predictions.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i]["scores"].size(), predictions[i].size());
    for (const auto& [label, probability] : predictions[i].items()) {
      // fastText adds 1e-5 to each probability of a tree before its logarithm, and looks sigmoids
      // of one-vs-all up in a table of 512 values.
      const double tolerance = GetParam() == "one_vs_all.bin" ? 8e-3 : 1e-4;
      EXPECT_NEAR(found[i]["scores"][label].get<double>(), probability.get<double>(), tolerance)
          << expected["texts"][i] << " " << label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files,
    FastTextImport,
    ::testing::Values("words.bin", "ngrams.bin", "tree.bin", "one_vs_all.bin", "quantized.ftz"),
    [](const auto& test) { return test.param.substr(0, test.param.find('.')); });

constexpr const char* kFastTextConfig = R"(model: {type: fasttext, dim: 4}
tokenizer: {type: fasttext, word_ngrams: 2, min_frequency: 1}
data:
  train: [{path: train.tsv, text: text, label: label}]
  evaluate: [{path: train.tsv, text: text, label: label}]
  cache_dir: cache
objective: {type: classify}
train: {duration: 40 epochs, batch_sequences: 2, evaluate_every: 40 epochs}
run: {directory: run, seed: 1}
)";

class FastTextRun : public ::testing::Test {
 protected:
  void SetUp() override {
    test::write(directory_ / "config.yaml", kFastTextConfig);
    test::write(directory_ / "train.tsv",
                "text\tlabel\ngood soup\tyes\nbad soup\tno\nnot good soup\tno\n"
                "not bad soup\tyes\n");
  }
  test::ProcessResult weft(const std::string& arguments) {
    return test::run(
        {"/bin/sh", "-c", "cd '" + directory_.path() + "' && exec '" WEFT_BINARY "' " + arguments});
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FastTextRun, LearnsWhatOnlyBigramsTell) {
  const auto done = weft("train config.yaml");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("eval_accuracy 1"), std::string::npos) << done.err;
  const auto nearest = weft("inspect run --nearest good");
  EXPECT_EQ(nearest.status, 0) << nearest.err;
  EXPECT_NE(nearest.out.find("Nearest to good"), std::string::npos) << nearest.out;
  test::write(directory_ / "tuned.yaml",
              "init_from: run\n"
              "data:\n  train: [{path: train.tsv, text: text, label: label}]\n"
              "objective: {type: classify}\n"
              "train: {duration: 2 steps}\n"
              "run: {directory: tuned, seed: 1}\n");
  const auto tuned = weft("train tuned.yaml");
  EXPECT_EQ(tuned.status, 0) << tuned.err;
}

TEST_F(FastTextRun, TakesAnOutputLayerAndRefusesWhatDoesNotFit) {
  EXPECT_EQ(weft("train config.yaml --set model.output.type=hierarchical").status, 0);
  EXPECT_NE(weft("config check config.yaml --set model.output.type=sampled")
                .err.find("model.output.type: is for language models"),
            std::string::npos);
  EXPECT_NE(weft("config check config.yaml --set 'model={type: bert}'")
                .err.find("tokenizer.type: fasttext gives words and n-grams in no order"),
            std::string::npos);
}

TEST_F(FastTextRun, StartsFromPretrainedEmbeddings) {
  test::write(directory_ / "vectors.vec", "3 4\nsoup 1 2 3 4\nunknown 0 0 0 0\nsoup 9 9 9 9\n");
  const auto done =
      weft("train config.yaml --set pretrained_embeddings=vectors.vec --set train.freeze=[words]");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("[model] pretrained embeddings of 1 of "), std::string::npos) << done.err;
  test::write(directory_ / "narrow.vec", "soup 1 2\n");
  const auto narrow = weft("config check config.yaml --set pretrained_embeddings=narrow.vec");
  EXPECT_NE(narrow.status, 0);
  EXPECT_NE(narrow.err.find("have 2 dimensions, the embeddings of the model 4"), std::string::npos)
      << narrow.err;
  test::write(directory_ / "others.vec", "no 1 2 3 4\nwords 1 2 3 4\n");
  const auto others =
      weft("train config.yaml --output other --set pretrained_embeddings=others.vec");
  EXPECT_NE(others.err.find("is a word of others.vec"), std::string::npos) << others.err;
  const auto bag = weft(
      "config check config.yaml --set 'model={type: bag_of_words}' --set "
      "pretrained_embeddings=vectors.vec");
  EXPECT_NE(bag.err.find("has no word embeddings"), std::string::npos) << bag.err;
}

}  // namespace
}  // namespace weft::cli
