#include <gtest/gtest.h>

#include "cli/pair_runs.h"
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

TEST(LiveParity, DocumentsAreTwoEncodersOfTransformers) {
  if (const auto why = missing_for_parity(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto done = run_parity("documents.py");
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

TEST(LiveParity, ReportsShowWhatOtherLibrariesCompute) {
  if (const auto why = missing_for_parity(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  if (test::run({test::python(), "-c", "import sklearn"}).status != 0) {
    GTEST_SKIP() << "no scikit-learn in the Python of WEFT_PYTHON";
  }
  const auto done =
      run_parity("report.py", {test::pair_runs().model(), "--data",
                               test::pair_runs().path("train.tsv"), "--positive", "good"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

}  // namespace
}  // namespace weft::cli
