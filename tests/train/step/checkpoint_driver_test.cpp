#include "train/step/checkpoint_driver.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "support/config.h"

namespace weft::train {
namespace {

std::string warning_about(int64_t checkpoint_bytes, int64_t missing, int64_t free) {
  log::set_level(log::Level::kInfo);
  testing::internal::CaptureStderr();
  check_disk_space("run", checkpoint_bytes, missing, free);
  return testing::internal::GetCapturedStderr();
}

TEST(CheckpointDriver, ADiskTooFullForACheckpointIsAnError) {
  EXPECT_EQ(
      test::message_of<UserError>([] { check_disk_space("run", 3 << 20, 1, 2 << 20); }),
      "run: a checkpoint takes 3.0 MiB, but the disk has only 2.0 MiB free: free some space or "
      "choose another --output");
}

TEST(CheckpointDriver, ADiskTooFullForLaterCheckpointsIsAWarning) {
  EXPECT_EQ(warning_about(1 << 20, 4, 4 << 20), "");
  EXPECT_EQ(warning_about(1 << 20, 4, (4 << 20) - 1),
            "warning: [checkpoint] run: the disk has 4.0 MiB free, enough for 3 of the 4 "
            "checkpoints of 1.0 MiB that this run keeps and writes (run.keep)\n");
  EXPECT_EQ(warning_about(1 << 20, -2, 1 << 20), "");  // there are more than are kept
}

}  // namespace
}  // namespace weft::train
