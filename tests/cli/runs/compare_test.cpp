#include <gtest/gtest.h>

#include "cli/pair_runs.h"
#include "formats/json.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using formats::Json;

TEST(Compare, ShowsDifferencesWithIntervals) {
  const auto done =
      test::weft({"compare", test::pair_runs().path("slow"), test::pair_runs().model(), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto report = Json::parse(done.out);
  EXPECT_EQ(report["config"].size(), 1U) << done.out;
  EXPECT_EQ(report["config"]["train.optimizer.lr"].size(), 2U) << done.out;
  const auto& slow = report["runs"][0]["metrics"]["eval_loss"];
  const auto& fast = report["runs"][1]["metrics"]["eval_loss"];
  const auto& loss = report["runs"][1]["differences"]["eval_loss"];
  EXPECT_NEAR(loss["difference"].get<double>(), fast.get<double>() - slow.get<double>(), 1e-9);
  EXPECT_LE(loss["low"], loss["difference"]);
  EXPECT_GE(loss["high"], loss["difference"]);
  EXPECT_FALSE(report["runs"][0].contains("differences"));
  const auto table =
      test::weft({"compare", test::pair_runs().path("slow"), test::pair_runs().model()});
  EXPECT_NE(table.out.find("train.optimizer.lr"), std::string::npos) << table.out;
  EXPECT_EQ(
      test::weft({"compare", test::pair_runs().model(), test::pair_runs().path("cache")}).status,
      2);
}

}  // namespace
}  // namespace weft::cli
