#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tiny_translator.h"
#include "formats/json.h"
#include "models/directory.h"
#include "models/encoder_decoder_parts.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// `weft evaluate --generate` of an encoder-decoder of random weights.
class EvaluateTexts : public ::testing::Test {
 protected:
  EvaluateTexts() {
    auto options = test::tiny_translator_options(models::family_named("bart"), 420);
    models::set_decoding_ids(options);
    models::save_model(folder_.path(), *models::make_model(options, 3), formats::DType::kF32);
    for (const std::string name : {"tokenizer.json", "tokenizer_config.json"}) {
      std::filesystem::copy_file(
          std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers/roberta/" + name,
          folder_ / name);
    }
    test::write(folder_ / "pairs.tsv",
                "source\ttarget\nthe cat sat\tdie Katze sitzt\n\tnichts\na dog ran by the big "
                "house\tein Hund lief vorbei\nit was a red mat\tes war eine rote Matte\n");
    test::write(folder_ / "right.txt",
                "die Katze sitzt\nnichts\nein Hund lief vorbei\nes war eine rote Matte\n");
  }

  test::ProcessResult evaluate(std::vector<std::string> more) {
    std::vector<std::string> options{
        "evaluate", folder_.path(), "--data", folder_ / "pairs.tsv", "--threads", "1"};
    options.insert(options.end(), more.begin(), more.end());
    return test::weft(options);
  }

  OrderedJson metrics(const std::vector<std::string>& more) {
    const auto done = evaluate(more);
    EXPECT_EQ(done.status, 0) << done.err;
    return OrderedJson::parse(done.out);
  }

  test::TemporaryDirectory folder_;
};

TEST_F(EvaluateTexts, MetricsAreComputedOnTheWrittenTexts) {
  const auto path = folder_ / "found.txt";
  const auto found =
      metrics({"--generate", "--beams", "3", "--max-new", "12", "--hypotheses", path});
  EXPECT_GT(found["eval_loss"].get<double>(), 0);
  EXPECT_EQ(found["eval_lines"], 4);
  const auto texts = test::contents(path);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), '\n'), 4);
  EXPECT_NE(texts.find("\n\n"), std::string::npos) << "a blank source has a blank text";
  const auto scored = test::weft({"score", "--hypotheses", path, "--references",
                                  folder_ / "right.txt", "--metric", "bleu,chrf,rouge"});
  ASSERT_EQ(scored.status, 0) << scored.err;
  const auto wanted = OrderedJson::parse(scored.out);
  for (const auto& [name, value] : wanted.items()) {
    const auto& own = found["eval_" + name];  // numbers have 12 digits
    EXPECT_TRUE(value.is_number_float() ? std::abs(own.get<double>() - value.get<double>()) < 1e-9
                                        : own == value)
        << name << " " << own << " " << value;
  }
  EXPECT_GT(found["eval_chrf"].get<double>(), 0);
  EXPECT_NE(found["eval_bleu_line"].get<std::string>().find("tok:13a"), std::string::npos);
}

TEST_F(EvaluateTexts, TextsAreThoseOfGenerate) {
  const auto path = folder_ / "found.txt";
  metrics({"--generate", "--beams", "2", "--max-new", "9", "--hypotheses", path});
  const auto plain = test::weft(
      {"generate", folder_.path(), "--plain", "--beams", "2", "--max-new", "9", "--threads", "1"},
      "the cat sat\na dog ran by the big house\nit was a red mat\n");
  auto texts = test::contents(path);
  texts.erase(texts.find("\n\n"), 1);
  EXPECT_EQ(texts, plain.out);
}

TEST_F(EvaluateTexts, TwoFilesAreAnItemOfData) {
  test::write(folder_ / "left.txt",
              "the cat sat\n\na dog ran by the big house\nit was a red mat\n");
  const std::vector<std::string> more{"--generate", "--max-new", "9"};
  std::vector<std::string> options{
      "evaluate",
      folder_.path(),
      "--threads",
      "1",
      "--data",
      "{source: " + (folder_ / "left.txt") + ", target: " + (folder_ / "right.txt") + "}"};
  options.insert(options.end(), more.begin(), more.end());
  const auto done = test::weft(options);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(OrderedJson::parse(done.out), metrics(more));
}

TEST_F(EvaluateTexts, WithoutItNothingIsWritten) {
  const auto found = metrics({});
  EXPECT_FALSE(found.contains("eval_bleu"));
  const auto refused = evaluate({"--beams", "4"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("weft evaluate: --beams needs --generate"), std::string::npos)
      << refused.err;
  const auto several = evaluate({"--generate", "--beams", "4", "--n-best", "2"});
  EXPECT_NE(several.err.find("weft evaluate: --n-best"), std::string::npos) << several.err;
  EXPECT_NE(evaluate({"--generate", "--temperature", "0"}).err.find("weft evaluate: --temperature"),
            std::string::npos);
}

TEST_F(EvaluateTexts, UnknownMetricsAreRefusedBeforeTextsAreWritten) {
  const auto path = folder_ / "early.txt";
  const auto refused = evaluate({"--generate", "--metric", "blue", "--hypotheses", path});
  EXPECT_NE(refused.err.find("did you mean 'bleu'?"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(EvaluateTexts, ModelsWithoutPairsAreRefused) {
  test::write(folder_ / "weft.yaml", "objective: {type: denoise}\ndata: {}\n");
  const auto refused = evaluate({"--generate"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("its objective is denoise"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace weft::cli
