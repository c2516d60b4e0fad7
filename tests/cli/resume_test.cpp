#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResumeConfig = R"(
model: {preset: bert-tiny, layers: 2, position: {type: learned, length: 128}}
tokenizer: {type: wordpiece, vocab_size: 1000, train_on: data}
data:
  train: [{path: SOURCE/data/corpus/*.txt}]
  cache_dir: WORK/cache
  length: 128
objective: {type: mlm, next_sentence: PAIRS}
train:
  duration: 40 steps
  batch_tokens: 2048
  micro_batch_tokens: 1024
  optimizer: {type: adamw, lr: 1e-3}
  schedule: {type: cosine, warmup: 4 steps}
  precision: PRECISION
  log_every: 1 steps
  save_every: 20 steps
  evaluate_every: never
run: {directory: WORK/none, seed: 3, keep: {best: 0, last: 5}}
)";

constexpr const char* kSpam = R"(
model: {preset: bert-tiny, layers: 2, position: {type: learned, length: 64}}
tokenizer: {type: wordpiece, vocab_size: 800, train_on: data}
data:
  train: [{path: SOURCE/data/spam/train.tsv}]
  cache_dir: WORK/cache
objective: {type: classify}
train:
  duration: 40 steps
  batch_sequences: 32
  optimizer: {type: adamw, lr: 1e-3}
  schedule: {type: linear, warmup: 4 steps}
  precision: PRECISION
  log_every: 1 steps
  save_every: 20 steps
  evaluate_every: never
run: {directory: WORK/none, seed: 3, keep: {best: 0, last: 5}}
)";

/// Additions to kSpam that use all fine-tuning features.
constexpr const char* kKit = R"(precision: PRECISION
  freeze: [embeddings, layers.0]
  ema: {decay: 0.99}
  early_stopping: {patience: 99}
  best_by: eval_loss)";

/// Lines of metrics.jsonl without times.
std::vector<nlohmann::json> metrics(const std::string& run) {
  std::vector<nlohmann::json> rows;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto row = nlohmann::json::parse(line);
    for (auto field = row.begin(); field != row.end();) {
      const bool is_time =
          field.key().rfind("throughput/", 0) == 0 || field.key().rfind("time/", 0) == 0;
      field = is_time ? row.erase(field) : std::next(field);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_there(const std::string& path) { return fs::exists(path); }

/// Trains the config straight, and again killed after the first checkpoint and resumed; all must be
/// equal.
void expect_same_after_kill(const std::string& config_text,
                            const std::string& precision,
                            const std::string& pairs) {
  const test::TemporaryDirectory work;
  auto text =
      test::filled(test::filled(config_text, "SOURCE", WEFT_SOURCE_DIR), "WORK", work.path());
  test::write(work / "config.yaml",
              test::filled(test::filled(text, "PRECISION", precision), "PAIRS", pairs));
  const auto straight = work / "straight";
  const auto broken = work / "broken";

  const auto done = test::weft({"train", work / "config.yaml", "--output", straight});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto child =
      test::start({WEFT_BINARY, "train", work / "config.yaml", "--output", broken}, work.path());
  while (!is_there(broken + "/checkpoint-20") && ::waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(is_there(broken + "/checkpoint-20")) << test::contents(work / "stderr");
  EXPECT_FALSE(is_there(broken + "/checkpoint-40"))
      << "the run ended before the kill: the test shows nothing";
  const auto resumed = test::weft({"train", work / "config.yaml", "--output", broken});
  ASSERT_EQ(resumed.status, 0) << resumed.err;

  for (const auto* file : {"model.safetensors", "training/optimizer.safetensors",
                           "training/weights.safetensors"}) {  // empty where no run has it
    for (const auto* step : {"/checkpoint-20/", "/checkpoint-40/"}) {
      EXPECT_TRUE(test::contents(straight + step + file) == test::contents(broken + step + file))
          << step << file;
    }
  }
  EXPECT_GE(metrics(straight).size(), 40U);
  EXPECT_EQ(metrics(straight), metrics(broken));

  const auto again = test::weft({"train", work / "config.yaml", "--output", broken});
  EXPECT_EQ(again.status, 0) << "a finished run says so and does nothing: " << again.err;
}

TEST(Resume, KilledMlmRunResumesBitForBitInFp32) {
  expect_same_after_kill(kResumeConfig, "fp32", "false");
}
TEST(Resume, KilledMlmRunResumesBitForBitInBf16) {
  expect_same_after_kill(kResumeConfig, "bf16", "false");
}
TEST(Resume, KilledNextSentenceRunResumesBitForBitInFp32) {
  expect_same_after_kill(kResumeConfig, "fp32", "true");
}
TEST(Resume, KilledNextSentenceRunResumesBitForBitInBf16) {
  expect_same_after_kill(kResumeConfig, "bf16", "true");
}
TEST(Resume, KilledClassifierResumesBitForBitInFp32) { expect_same_after_kill(kSpam, "fp32", ""); }
TEST(Resume, KilledClassifierResumesBitForBitInBf16) { expect_same_after_kill(kSpam, "bf16", ""); }

/// kSpam with sentences of tagged words instead.
std::string with_tags() {
  auto text = test::filled(kSpam, "vocab_size: 800", "vocab_size: 400");
  text = test::filled(text, "spam/train.tsv", "names/train.conll");
  return test::filled(text, "{type: classify}", "{type: tag, label_all_tokens: true}");
}
TEST(Resume, KilledTaggerResumesBitForBitInFp32) {
  expect_same_after_kill(with_tags(), "fp32", "");
}
TEST(Resume, KilledTaggerResumesBitForBitInBf16) {
  expect_same_after_kill(with_tags(), "bf16", "");
}

/// kSpam with evaluations and the kit.
std::string with_kit() {
  auto text = test::filled(kSpam, "precision: PRECISION", kKit);
  text = test::filled(text, "lr: 1e-3}", "lr: 1e-3, layer_decay: 0.8, head_lr: 2e-3}");
  text = test::filled(text, "evaluate_every: never", "evaluate_every: 10 steps");
  return test::filled(text, "  cache_dir: WORK/cache",
                      "  evaluate: [{path: SOURCE/data/spam/dev.tsv}]\n  cache_dir: WORK/cache");
}
TEST(Resume, KilledRunWithTheKitResumesBitForBitInFp32) {
  expect_same_after_kill(with_kit(), "fp32", "");
}
TEST(Resume, KilledRunWithTheKitResumesBitForBitInBf16) {
  expect_same_after_kill(with_kit(), "bf16", "");
}

}  // namespace
}  // namespace weft::cli
