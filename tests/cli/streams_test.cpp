#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

/// Text that continues from sequence to sequence (data.streams), in training and in evaluation.
namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ContinuedModel {
  std::string name;
  std::string keys;  // of `model:`, without the braces
  int64_t other_length = 21;
};

void PrintTo(const ContinuedModel& model, std::ostream* out) { *out << model.name; }

class Streams : public ::testing::TestWithParam<ContinuedModel> {
 protected:
  Streams() {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      text += "line " + std::to_string(i * 37 % 23) + " of the text\n";
    }
    test::write(directory_ / "text.txt", text);
    test::write(directory_ / "config.yaml",
                "model: {type: gpt2, dim: 16, layers: 2, " + GetParam().keys +
                    "}\n"
                    "tokenizer: {type: characters, vocab_size: 80}\n"
                    "data: {train: [{path: " +
                    text_ +
                    "}], document_boundary: file, pack: stream, streams: 3, shuffle: false}\n"
                    "objective: {type: causal}\n"
                    "train: {duration: 2 steps, batch_sequences: 3, precision: fp32}\n"
                    "run: {directory: " +
                    run_ + ", seed: 1}\n");
  }

  /// The loss of `weft evaluate` with sequences of this length.
  double loss(int64_t length) const {
    const auto trained = test::weft(
        {"train", directory_ / "config.yaml", "--set", "data.length=" + std::to_string(length),
         "--set", "train.optimizer.lr=1e-30", "--output", run_ + std::to_string(length)});
    EXPECT_EQ(trained.status, 0) << trained.err;
    const auto evaluated =
        test::weft({"evaluate", run_ + std::to_string(length), "--data", text_, "--json"});
    EXPECT_EQ(evaluated.status, 0) << evaluated.err;
    return Json::parse(evaluated.out).at("eval_loss").get<double>();
  }

  test::TemporaryDirectory directory_;
  std::string text_ = directory_ / "text.txt";
  std::string run_ = directory_ / "run";
};

TEST_P(Streams, EvaluationDoesNotDependOnTheLengthOfTheSequences) {
  const auto expected = loss(64);
  EXPECT_NEAR(loss(8), expected, 1e-6);
  EXPECT_NEAR(loss(GetParam().other_length), expected, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Models,
    Streams,
    ::testing::Values(
        ContinuedModel{
            "recurrent",
            "attention: {heads: 2}, block: r, recurrent: {cell: gru, width: 12}, position: {type: "
            "none}"},
        ContinuedModel{"transformer_xl",
                       "attention: {heads: 2, type: transformer_xl, memory: "
                       "1024}, position: {type: transformer_xl}"},
        ContinuedModel{"memory_slots",
                       "attention: {heads: 2}, block: amf, memory: {slots: 4, segment: 8}, "
                       "position: {type: rotary}",
                       24}),
    [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace weft::cli
