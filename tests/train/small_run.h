#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/stop.h"
#include "config/section.h"
#include "support/folder.h"
#include "train/run/run_config.h"
#include "train/run/train.h"

namespace weft::test {

/// Small runs in a temporary directory: texts, labelled rows, and configs of a very small model.
class SmallRun {
 public:
  SmallRun() {
    folder_.write("train.txt", documents(24, 0));
    folder_.write("held_out.txt", documents(6, 100));
    folder_.write("train.tsv", rows(40, 0));
    folder_.write("held_out.tsv", rows(12, 100));
  }

  std::string path(std::string_view name) const { return folder_.path(name); }
  const Folder& folder() const { return folder_; }

  /// What a run of this kind (mlm, pairs, classify) is configured to, in `directory`.
  train::RunConfig config(const std::string& kind,
                          const std::string& directory,
                          const std::vector<std::string>& overrides = {}) const {
    const bool is_classify = kind == "classify";
    const std::string suffix = is_classify ? ".tsv" : ".txt";
    const std::string objective =
        is_classify
            ? "{type: classify}"
            : "{type: mlm, next_sentence: " + std::string(kind == "pairs" ? "true" : "false") + "}";
    const std::string yaml =
        "model: {preset: bert-tiny, dim: 16, layers: 2, attention: {type: full, heads: 2}, "
        "position: {type: learned, "
        "length: 32}, feed_forward: {width: 32}}\n"
        "tokenizer: {type: wordpiece, vocab_size: 70, train_on: data}\n"
        "data:\n"
        "  train: [{path: " +
        path("train" + suffix) +
        "}]\n"
        "  evaluate: [{path: " +
        path("held_out" + suffix) +
        "}]\n"
        "  cache_dir: " +
        path("cache") +
        "\n"
        "objective: " +
        objective +
        "\n"
        "train:\n"
        "  duration: 8 steps\n"
        "  batch_tokens: 96\n"
        "  optimizer: {type: adamw, lr: 1e-2}\n"
        "  schedule: {type: linear, warmup: 2 steps}\n"
        "  precision: fp32\n"
        "  log_every: 3 steps\n"
        "  evaluate_every: never\n"
        "  save_every: never\n"
        "  threads: 1\n"
        "run: {directory: " +
        path(directory) + ", seed: 7, device: cpu, keep: {best: 1, last: 9}}\n";
    return train::read_run_config(config::Document::parse(yaml, "small.yaml", overrides));
  }

  /// metrics.jsonl of a run, without times.
  std::vector<nlohmann::json> metrics(const std::string& directory) const {
    std::vector<nlohmann::json> lines;
    std::ifstream file(path(directory) + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("throughput/tokens_per_second");
      lines.back().erase("throughput/peak_memory_bytes");
    }
    return lines;
  }

  /// Values of one tag by step.
  std::map<int64_t, double> values(const std::string& directory, const std::string& tag) const {
    std::map<int64_t, double> found;
    for (const auto& line : metrics(directory)) {
      if (line.contains(tag)) {
        found[line["step"].get<int64_t>()] = line[tag].get<double>();
      }
    }
    return found;
  }

  std::string file(const std::string& name) const { return Folder::read(path(name)); }

 private:
  static std::string sentence(int number) {
    static const std::vector<std::string> kWords = {
        "the",  "red",  "fox",  "sees", "a",    "green", "bird", "and",
        "then", "runs", "over", "some", "hill", "under", "rain", "again"};
    std::string text;
    uint64_t state = static_cast<uint64_t>(number) * 2654435761U + 17;
    const int words = 4 + number % 5;
    for (int i = 0; i < words; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += (i > 0 ? " " : "") + kWords[(state >> 33) % kWords.size()];
    }
    return text;
  }
  static std::string documents(int count, int first) {
    std::string text;
    for (int document = 0; document < count; ++document) {
      for (int line = 0; line < 3; ++line) {
        text += sentence(first + 3 * document + line) + ".\n";
      }
      text += "\n";
    }
    return text;
  }
  static std::string rows(int count, int first) {
    std::string text = "text\tlabel\n";
    for (int row = 0; row < count; ++row) {
      const auto words = sentence(first + row);
      text += words + "\t" + (words.find("fox") != std::string::npos ? "yes" : "no") + "\n";
    }
    return text;
  }

  Folder folder_;
};

/// Captures stderr during its lifetime; also restores it if a training throws.
class CapturedStderr {
 public:
  CapturedStderr() { testing::internal::CaptureStderr(); }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;
  ~CapturedStderr() {
    if (!is_taken_) {
      testing::internal::GetCapturedStderr();
    }
  }
  std::string take() {
    is_taken_ = true;
    return testing::internal::GetCapturedStderr();
  }

 private:
  bool is_taken_ = false;
};

/// Trains until the step is done, then asks for a stop, as a signal would. Whether it stopped.
inline bool train_until(const train::RunConfig& config, int64_t step) {
  try {
    train::run_training(
        config, {.resume = train::Resume::kAuto, .on_step = [&](const train::TrainState& state) {
                   request_stop(state.progress.steps == step);
                 }});
  } catch (const Stopped&) {
    request_stop(false);
    return true;
  }
  return false;
}

}  // namespace weft::test
