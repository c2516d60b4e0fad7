#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {

constexpr const char* kMaskedLanguageModel = R"(
model: {preset: bert-tiny, layers: 2, position: {type: learned, length: 64}}
tokenizer: {type: wordpiece, vocab_size: 800, train_on: data}
data:
  train: [{path: SOURCE/data/corpus/*.txt}]
  evaluate: [{path: SOURCE/data/held_out.txt}]
  cache_dir: WORK/cache
  length: 64
objective: {type: mlm}
train:
  duration: 20 steps
  batch_tokens: 1024
  optimizer: {type: adamw, lr: 1e-3}
  precision: PRECISION
  threads: 1
  log_every: 1 steps
  save_every: 5 steps
  evaluate_every: 10 steps
run: {directory: WORK/none, seed: 3, device: cpu, keep: {last: 5}}
)";

inline std::string write_config(const test::TemporaryDirectory& work,
                                const std::string& precision) {
  auto text = test::filled(kMaskedLanguageModel, "SOURCE", WEFT_SOURCE_DIR);
  text = test::filled(test::filled(text, "WORK", work.path()), "PRECISION", precision);
  test::write(work / "config.yaml", text);
  return work / "config.yaml";
}

/// Trains in a run directory on so many ranks; `settings`: for --set.
inline void train(const std::string& run,
                  const std::string& config,
                  int ranks,
                  const std::vector<std::string>& settings = {}) {
  std::vector<std::string> command = {
      "launch", "--ranks", std::to_string(ranks), "--", "train", config, "--output", run};
  for (const auto& setting : settings) {
    command.insert(command.end(), {"--set", setting});
  }
  const auto done = test::weft(command);
  EXPECT_EQ(done.status, 0) << done.err;
}

/// Trains on so many ranks; returns the run directory.
inline std::string trained(const test::TemporaryDirectory& work,
                           const std::string& config,
                           int ranks) {
  const auto run = work / ("ranks-" + std::to_string(ranks));
  train(run, config, ranks);
  return run;
}

/// The values of a metric by step.
inline std::map<int64_t, double> metric(const std::string& run, const std::string& name) {
  std::map<int64_t, double> values;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.contains(name)) {
      values[row["step"]] = row[name];
    }
  }
  return values;
}

inline std::string weights(const std::string& run) {
  return test::contents(run + "/last/model.safetensors");
}

inline void expect_near(const std::map<int64_t, double>& found,
                        const std::map<int64_t, double>& wanted,
                        double tolerance) {
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [step, value] : wanted) {
    EXPECT_NEAR(found.at(step), value, tolerance * std::abs(value)) << "step " << step;
  }
}

/// Process ids of the ranks of a run directory, by their arguments.
inline std::vector<pid_t> ranks_of(const std::string& run) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto arguments = test::contents(entry.path() / "cmdline");
    if (arguments.starts_with(std::string("weft\0train\0", 11)) &&
        arguments.find(run) != std::string::npos) {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 3000 && !is_true(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_true();
}

inline std::string optimizer_state(const std::string& run) {
  return test::contents(run + "/last/training/optimizer.safetensors");
}

/// Both runs must have the same bits in everything that they wrote.
inline void expect_same_run(const std::string& run, const std::string& wanted) {
  for (const auto* const name : {"train/loss", "train/grad_norm", "eval/loss"}) {
    EXPECT_EQ(metric(run, name), metric(wanted, name)) << name;
  }
  EXPECT_TRUE(weights(run) == weights(wanted));
  EXPECT_TRUE(optimizer_state(run) == optimizer_state(wanted));
}

}  // namespace weft::cli
