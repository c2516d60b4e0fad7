#include "train/log/tensorboard_content.h"

#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

std::string events_of(const std::string& run) {
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      return read_file(entry.path().string());
    }
  }
  return "";
}

int64_t count_of(const std::string& bytes, const std::string& text) {
  int64_t count = 0;
  for (auto at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
    ++count;
  }
  return count;
}

TEST(TensorboardContent, AHistogramCountsEveryValue) {
  const auto values = histogram_values({{"a", at::tensor({-1.0F, 0.0F, 3.0F})},
                                        {"constant", at::ones({5})},
                                        {"infinite", at::tensor({1.0F, INFINITY})},
                                        {"empty", at::empty({0})}});
  ASSERT_EQ(values.size(), 2U);  // neither the infinite one nor the empty one
  double total = 0;
  // HistogramProto ends with its counts, 64 doubles.
  const auto* counts = values[0].data() + values[0].size() - 64 * sizeof(double);
  for (int i = 0; i < 64; ++i) {
    double count = 0;
    std::memcpy(&count, counts + i * sizeof(double), sizeof(double));
    total += count;
  }
  EXPECT_EQ(total, 3);
}

TEST(TensorboardContent, ARunWritesConfigExamplesAndHistograms) {
  const test::SmallRun small;
  const auto config = small.config("classify", "run", {"train.histograms_every=2"});
  run_training(config, {});
  const auto events = events_of(small.path("run"));
  EXPECT_EQ(count_of(events, "_hparams_/experiment"), 1);
  EXPECT_EQ(count_of(events, "_hparams_/session_start_info"), 1);
  EXPECT_EQ(count_of(events, "train/examples"), 1);
  EXPECT_GT(count_of(events, "train.optimizer.lr"), 0);
  const auto steps = small.metrics("run").back()["step"].get<int64_t>();
  EXPECT_EQ(count_of(events, "weights/layers.0.attention.qkv.weight"), steps / 2);
  EXPECT_EQ(count_of(events, "gradients/layers.0.attention.qkv.weight"), steps / 2);
  EXPECT_GT(small.values("run", "train/loss").size(), 0U);
}

TEST(TensorboardContent, HistogramsDoNotChangeARun) {
  const test::SmallRun small;
  run_training(small.config("classify", "with", {"train.histograms_every=1"}), {});
  run_training(small.config("classify", "without"), {});
  EXPECT_EQ(small.metrics("with"), small.metrics("without"));
}

TEST(TensorboardContent, HistogramsNeedAllWeights) {
  const test::SmallRun small;
  EXPECT_THROW(
      small.config("classify", "run", {"train.histograms_every=2", "train.ranks.shard=optimizer"}),
      config::Error);
}

}  // namespace
}  // namespace weft::train
