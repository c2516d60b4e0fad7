#include <gtest/gtest.h>

#include "support/parity.h"

namespace weft::cli {
namespace {

using test::missing_for_parity;
using test::run_parity;

/// Compares with the library itself and random weights, not with the stored numbers of
/// tests/reference.
TEST(LiveParity, ModelsComputeWhatTransformersComputes) {
  if (const auto why = missing_for_parity(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto done = run_parity("models.py");
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

TEST(LiveParity, DecodingGivesWhatTransformersGives) {
  if (const auto why = missing_for_parity(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto done = run_parity("decoding.py", {"--prompts", "24"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

}  // namespace
}  // namespace weft::cli
