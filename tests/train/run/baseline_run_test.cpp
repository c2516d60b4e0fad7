#include <gtest/gtest.h>

#include "support/config.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

/// Decomposable attention on pairs: does the second text contain the word of the first?
class PairRun : public ::testing::Test {
 protected:
  PairRun() {
    std::string rows = "label\ttext\ttext_pair\n";
    const std::vector<std::string> words = {"fox", "bird", "hill", "rain", "green"};
    for (std::size_t i = 0; i < 40; ++i) {
      const auto& asked = words[i % 5];
      const auto& answered = words[(i % 2 == 0 ? i : i + 1 + i % 3) % 5];
      rows += (asked == answered ? "yes" : "no") + ("\tthe " + asked) + "\tsome " + answered +
              " runs\n";
    }
    small_.folder().write("pairs.tsv", rows);
  }

  RunConfig config(const std::string& directory, const std::string& file = "pairs.tsv") const {
    const auto yaml =
        "model: {type: decomposable_attention, embedding_size: 12, dim: 8, hidden_dim: 8, dropout: "
        "0.1}\n"
        "tokenizer: {type: wordpiece, vocab_size: 50, train_on: data}\n"
        "data: {train: [{path: " +
        small_.path(file) +
        "}]}\n"
        "objective: {type: classify}\n"
        "train: {duration: 9 steps, batch_sequences: 10, micro_batch_tokens: 40, precision: bf16,\n"
        "  optimizer: {type: adamw, lr: 1e-2}, save_every: 1 steps, threads: 1}\n"
        "run: {directory: " +
        small_.path(directory) + ", seed: 7, device: cpu, keep: {best: 0, last: 9}}\n";
    return read_run_config(config::Document::parse(yaml, "pairs.yaml"));
  }

  test::SmallRun small_;
};

TEST_F(PairRun, ResumesExactly) {
  run_training(config("whole"), {});
  EXPECT_TRUE(test::train_until(config("cut"), 4));
  run_training(config("cut"), {});
  EXPECT_EQ(small_.file("cut/last/model.safetensors"), small_.file("whole/last/model.safetensors"));
}

TEST_F(PairRun, RefusesRowsOfOneText) {
  const auto message =
      test::message_of<UserError>([&] { run_training(config("single", "train.tsv"), {}); });
  EXPECT_NE(message.find("needs two texts"), std::string::npos) << message;
}

}  // namespace
}  // namespace weft::train
