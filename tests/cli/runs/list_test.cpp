#include <gtest/gtest.h>

#include "cli/pair_runs.h"
#include "formats/json.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using formats::Json;

TEST(List, ShowsStateAndBestMetricOfEachRun) {
  const auto done = test::weft({"list", test::pair_runs().directory(), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto lines = test::json_lines<Json>(done.out);
  ASSERT_EQ(lines.size(), 2U) << done.out;
  EXPECT_EQ(lines[0]["run"], test::pair_runs().model());
  EXPECT_EQ(lines[0]["objective"], "classify");
  EXPECT_EQ(lines[0]["steps"], 8);
  EXPECT_EQ(lines[0]["duration"], "8 steps");
  EXPECT_EQ(lines[0]["state"], "finished");
  EXPECT_TRUE(lines[0]["best"]["metric"].get<std::string>().starts_with("eval_")) << done.out;
  const auto table = test::weft({"list", test::pair_runs().directory()});
  EXPECT_TRUE(table.out.starts_with("run ")) << table.out;
  EXPECT_EQ(test::weft({"list", test::pair_runs().path("nowhere")}).status, 2);
}

}  // namespace
}  // namespace weft::cli
