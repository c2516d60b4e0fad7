#include "train/log/progress_line.h"

#include <limits>

#include <gtest/gtest.h>

namespace weft::train {
namespace {

constexpr ProgressMetrics kMetrics{.loss = 2.5, .learning_rate = 1e-4, .tokens_per_second = 12345};

TEST(ProgressText, DurationInSteps) {
  EXPECT_EQ(progress_text({.steps = 10, .epochs = 1.25}, kMetrics, {.amount = 200}, 65),
            "step 10/200  epoch 1.25  loss 2.5000  lr 1.00e-04  12,345 tokens/s  ETA 1 min 05 s");
}

TEST(ProgressText, DurationInEpochs) {
  EXPECT_EQ(progress_text({.steps = 10, .epochs = 0.75}, kMetrics,
                          {.amount = 3, .unit = config::DurationUnit::kEpochs}, 5),
            "step 10/~40  epoch 0.75/3  loss 2.5000  lr 1.00e-04  12,345 tokens/s  ETA 5 s");
}

TEST(ProgressText, BeforeTheFirstStep) {
  EXPECT_EQ(progress_text({}, kMetrics, {.amount = 1e6, .unit = config::DurationUnit::kTokens},
                          std::numeric_limits<double>::infinity()),
            "step 0/~0  epoch 0.00  loss 2.5000  lr 1.00e-04  12,345 tokens/s  ETA unknown");
}

}  // namespace
}  // namespace weft::train
