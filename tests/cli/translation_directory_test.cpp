#include <filesystem>

#include <gtest/gtest.h>

#include "cli/tiny_translator.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "models/directory.h"
#include "models/encoder_decoder_parts.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const std::string kFolder = std::string(WEFT_SOURCE_DIR) + "/tests/reference/marian/";

/// A Marian model's directory as transformers has it, with random weights.
class MarianDirectory : public ::testing::TestWithParam<std::string> {
 protected:
  MarianDirectory() {
    const bool is_joint = GetParam() == "joint";
    fs::copy(kFolder + GetParam(), model_);
    fs::remove(model_ + "/expected.json");
    const auto tokenizer = data::load_tokenizer(model_);
    auto options = test::tiny_translator_options(models::family_named("marian"), tokenizer->size());
    options.pad_id = tokenizer->special_token_ids().pad;
    options.eos_id = tokenizer->special_token_ids().eos;
    options.decoder.share_encoder_decoder_embeddings = is_joint;
    models::set_decoding_ids(options);
    models::save_model(model_, *models::make_model(options, 3), formats::DType::kF32);
    test::write(folder_ / "pairs.tsv",
                "source\ttarget\n>>fra<< the pan had to soak\tcall now\nthe soup was good\tyou won "
                "a prize\n");
  }

  test::ProcessResult weft(std::vector<std::string> arguments,
                           const std::string& input = "") const {
    arguments.insert(arguments.end(), {"--threads", "1"});
    return test::weft(arguments, input);
  }
  Json evaluated(const std::string& model) const {
    const auto done = weft({"evaluate", model, "--data", folder_ / "pairs.tsv"});
    EXPECT_EQ(done.status, 0) << done.err;
    return Json::parse(done.out);
  }

  test::TemporaryDirectory folder_;
  std::string model_ = folder_ / "model";
};

TEST_P(MarianDirectory, IsImportedWithItsTokenizer) {
  const auto done = test::weft({"import", model_, "--output", folder_ / "again"});
  ASSERT_EQ(done.status, 0) << done.err;
  for (const std::string file : {"source.spm", "target.spm", "vocab.json"}) {
    EXPECT_EQ(test::contents(folder_ / ("again/" + file)), test::contents(model_ + "/" + file));
  }
  EXPECT_EQ(evaluated(folder_ / "again"), evaluated(model_));
}

TEST_P(MarianDirectory, OutputUsesTargetPieces) {
  const auto done = weft({"generate", model_, "--prompt", "the soup was good", "--max-new", "6"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto answer = Json::parse(done.out);
  const auto ids =
      weft({"generate", model_, "--prompt", "the soup was good", "--max-new", "6", "--ids"});
  ASSERT_EQ(ids.status, 0) << ids.err;
  const auto tokenizer = data::load_tokenizer(model_);
  EXPECT_EQ(tokenizer->target().decode(Json::parse(ids.out)["ids"].get<std::vector<int32_t>>()),
            answer["text"].get<std::string>());
}

TEST_P(MarianDirectory, TrainsOnAndKeepsItsFiles) {
  test::write(folder_ / "run.yaml", "init_from: " + model_ +
                                        "\ndata:\n  train: [{path: " + (folder_ / "pairs.tsv") +
                                        "}]\nobjective: {type: seq2seq}\ntrain: {duration: 2 "
                                        "steps, batch_tokens: 64, threads: 1, optimizer: {lr: "
                                        "1e-3}}\nrun: "
                                        "{directory: " +
                                        (folder_ / "run") + "}\n");
  const auto done = test::weft({"train", folder_ / "run.yaml"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(test::contents(folder_ / "run/last/target.spm"),
            test::contents(model_ + "/target.spm"));
  EXPECT_FALSE(fs::exists(folder_ / "run/last/tokenizer.json"));
  const auto encoded = test::weft({"tokenizer", "encode", "--model", folder_ / "run", "--target"},
                                  "Call now to claim your free prize!\n");
  ASSERT_EQ(encoded.status, 0) << encoded.err;
  EXPECT_EQ(Json::parse(encoded.out)["ids"],
            formats::read_json(kFolder + GetParam() + "/expected.json")["targets"][1]);
}

INSTANTIATE_TEST_SUITE_P(Directories, MarianDirectory, ::testing::Values("joint", "separate"));

TEST(SeparateVocabularies, NeedSeparateEmbeddings) {
  const test::TemporaryDirectory folder;
  const auto model = folder / "model";
  fs::copy(kFolder + "separate", model);
  auto options = test::tiny_translator_options(models::family_named("marian"), 146);
  models::set_decoding_ids(options);
  models::save_model(model, *models::make_model(options, 3), formats::DType::kF32);
  const auto done = test::weft({"import", model, "--output", folder / "again"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("share_encoder_decoder_embeddings: false"), std::string::npos)
      << done.err;
}

/// mBART from scratch, in both directions.
TEST(MbartRun, AppendsTheLanguagesOfTheItems) {
  const test::TemporaryDirectory folder;
  std::string there = "source\ttarget\n";
  std::string back = there;
  for (int i = 0; i < 60; ++i) {
    const auto number = std::to_string(i * 7919 % 100);
    there += "the fox sees " + number + " hens\tvulpes videt " + number + " gallinas\n";
    back += "vulpes videt " + number + " gallinas\tthe fox sees " + number + " hens\n";
  }
  test::write(folder / "there.tsv", there);
  test::write(folder / "back.tsv", back);
  const auto config = [&](const std::string& items) {
    return "model: {type: mbart, dim: 16, layers: 1, attention: {heads: 2}, feed_forward: {width: "
           "32}}\ntokenizer: {type: unigram, vocab_size: 64, normalization: identity}\ndata:\n  "
           "train:\n" +
           items +
           "objective: {type: seq2seq}\ntrain: {duration: 2 steps, batch_tokens: 256, optimizer: "
           "{lr: 1e-3}, threads: 1}\n";
  };
  const auto item = [&](const std::string& file, const std::string& from, const std::string& to) {
    return "    - {path: " + (folder / file) + ", language: " + from + ", target_language: " + to +
           "}\n";
  };
  test::write(folder / "both.yaml",
              config(item("there.tsv", "en_XX", "<la>") + item("back.tsv", "<la>", "en_XX")));
  const auto done = test::weft({"train", folder / "both.yaml", "--output", folder / "both"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto shown = test::weft({"data", "preview", folder / "both.yaml", "--count", "20"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("</s> en_XX\ntarget: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("</s> <la>\ntarget: "), std::string::npos) << shown.out;
  // The decoder start token is unknown unless the language is given.
  EXPECT_TRUE(
      formats::read_json(folder / "both/last/config.json")["decoder_start_token_id"].is_null());
  const auto silent = test::weft({"generate", folder / "both", "--prompt", "the fox"});
  EXPECT_EQ(silent.status, 2);
  EXPECT_NE(silent.err.find("--target-language"), std::string::npos) << silent.err;
  EXPECT_EQ(test::weft({"generate", folder / "both", "--prompt", "the fox", "--target-language",
                        "<la>", "--max-new", "3"})
                .status,
            0);

  test::write(folder / "one.yaml", config(item("there.tsv", "en_XX", "<la>")));
  const auto one = test::weft({"train", folder / "one.yaml", "--output", folder / "one"});
  ASSERT_EQ(one.status, 0) << one.err;
  const auto tokenizer = data::load_tokenizer(folder / "one/last");
  EXPECT_EQ(formats::read_json(folder / "one/last/config.json")["decoder_start_token_id"],
            tokenizer->id("<la>").value());
  EXPECT_EQ(tokenizer->target().sequence({}).ids.back(), tokenizer->id("<la>"));
  const auto answered =
      test::weft({"generate", folder / "one", "--prompt", "the fox", "--max-new", "3"});
  EXPECT_EQ(answered.status, 0) << answered.err;
  const auto judged = test::weft(
      {"evaluate", folder / "one", "--generate", "--max-new", "3", "--data",
       "{path: " + (folder / "there.tsv") + ", language: en_XX, target_language: <la>}"});
  EXPECT_EQ(judged.status, 0) << judged.err;
}

}  // namespace
}  // namespace weft::cli
