// A rollback that is killed. Each training is a separate process; this program itself
// never trains.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/checkpoint/checkpoint.h"
#include "train/forked_runs.h"

namespace weft::train {
namespace {

using test::kDone;
using test::kKilled;
using test::stride;

class RollbackTest : public test::ForkedRuns {
 protected:
  /// The third step has a number that overflows; the run rolls back to checkpoint-2.
  RunConfig rolling(const std::string& directory) const {
    std::string rows = "text\tlabel\n";
    for (int row = 0; row < 24; ++row) {
      rows += "the red fox sees hill " + std::string(row % 7 + 1, 'a') +
              (row == 9       ? "\t1e30\n"
               : row % 3 == 0 ? "\t0.5\n"
                              : "\t0.25\n");
    }
    const auto data = small_.folder().write("numbers.tsv", rows);
    return config(directory, {"objective={type: regress}", "data.train=[{path: " + data + "}]",
                              "tokenizer.vocab_size=40", "data.evaluate=[]", "data.shuffle=false",
                              "train.batch_tokens=null", "train.batch_sequences=4",
                              "train.nan_policy.action=rollback", "train.save_async=false"});
  }
};

TEST_F(RollbackTest, KilledAnywhereItIsTheSameRun) {
  ASSERT_EQ(train(rolling("straight")), kDone) << stderr_text();
  ASSERT_EQ(newest_valid_checkpoint(small_.path("straight"))->state.rollbacks.count, 1)
      << stderr_text();
  int killed = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(7)) {
    const auto plan = "any:" + std::to_string(call) + ":SIGKILL";
    SCOPED_TRACE(plan);
    std::filesystem::remove_all(small_.path("run"));
    const int status = train(rolling("run"), plan);
    if (status == kDone) {
      break;
    }
    ASSERT_EQ(status, kKilled) << stderr_text();
    ++killed;
    for (const auto step : checkpoint_steps(small_.path("run"))) {
      EXPECT_NO_THROW(verify_manifest(small_.path("run/") + checkpoint_name(step)));
    }
    ASSERT_EQ(train(rolling("run")), kDone) << stderr_text();
    expect_same("straight", "run", plan);
    EXPECT_EQ(newest_valid_checkpoint(small_.path("run"))->state.rollbacks.count, 1);
  }
  EXPECT_GE(killed, 10);
}

}  // namespace
}  // namespace weft::train
