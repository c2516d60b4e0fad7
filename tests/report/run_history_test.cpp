#include "report/run_history.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::report {
namespace {

constexpr auto kLines =
    R"({"step":10,"train/loss":2.5,"train/tokens":1000,"throughput/tokens_per_second":500}
{"step":10,"eval/loss":2.25}
{"step":20,"train/loss":2.0,"train/tokens":3000,"train/skipped_steps":2,"throughput/tokens_per_second":1000}
not json
{"step":20,"eval/loss":2.125}
{"step":30,"train/loss":1.5,"train/tokens":4000,"train/skipped_steps":2,"throughput/tokens_per_second":500)";

TEST(RunHistory, ReadsCurvesTimesAndEvents) {
  const test::Folder folder;
  folder.write("metrics.jsonl", kLines);
  const auto history = read_history(folder.path(), 3);
  EXPECT_EQ(history.metrics.at("train/loss").values, (std::vector<double>{2.5, 2.0}));
  EXPECT_EQ(history.metrics.at("eval/loss").steps, (std::vector<int64_t>{10, 20}));
  // The time of a line is its tokens divided by their speed.
  const auto axes = history.axes_at({5, 10, 19, 20, 100});
  EXPECT_EQ(axes.at("time"), (std::vector<double>{2, 2, 2, 4, 4}));
  EXPECT_EQ(axes.at("tokens"), (std::vector<double>{1000, 1000, 1000, 3000, 3000}));
  ASSERT_EQ(history.events.size(), 1U);
  EXPECT_EQ(history.events[0].label, "2 skipped steps by step 20");
  EXPECT_EQ(history.events[0].run, 3);
  EXPECT_EQ(history.events[0].x.at("time"), 4);
  // Two damaged lines, and no run.json.
  ASSERT_EQ(history.problems.size(), 2U);
  EXPECT_NE(history.problems[0].find("2 damaged lines"), std::string::npos) << history.problems[0];
}

// A metric that was not finite at a step is not in its line.
TEST(RunHistory, AnEvaluationHasTheMetricsOfOneStep) {
  const test::Folder folder;
  folder.write("metrics.jsonl",
               "{\"step\":10,\"eval/accuracy\":0.5}\n"
               "{\"step\":20,\"eval/accuracy\":0.75,\"eval/loss\":2}\n"
               "{\"step\":30,\"eval/loss\":1}\n");
  const auto history = read_history(folder.path(), 0);
  using Values = std::map<std::string, double>;
  EXPECT_EQ(history.evaluation(10), (Values{{"eval_accuracy", 0.5}}));
  EXPECT_EQ(history.evaluation(20), (Values{{"eval_accuracy", 0.75}, {"eval_loss", 2}}));
  EXPECT_EQ(history.evaluation(25), (Values{{"eval_loss", 1}}));  // not evaluated: the last one
  EXPECT_EQ(history.evaluation(std::nullopt), (Values{{"eval_loss", 1}}));
}

TEST(RunHistory, AMissingFileIsAProblem) {
  const test::Folder folder;
  const auto history = read_history(folder.path(), 0);
  EXPECT_TRUE(history.metrics.empty());
  ASSERT_EQ(history.problems.size(), 2U);  // neither metrics.jsonl nor run.json
  EXPECT_NE(history.problems[0].find("metrics.jsonl"), std::string::npos);
}

TEST(RunHistory, SurvivesNumbersThatNoRunWrites) {
  const test::Folder folder;
  folder.write("metrics.jsonl",
               "{\"step\": 1e300, \"train/loss\": 1}\n{\"step\": -1e300}\n{\"step\": \"a\"}\n"
               "{\"step\": [1], \"train/loss\": [2]}\n[]\n{\"step\": 5, \"eval/\": 1e308}\n"
               "{\"step\": 4, \"eval/\": -1e308, \"train/tokens\": -5, "
               "\"throughput/tokens_per_second\": 1e-300}\n");
  const auto history = read_history(folder.path(), 0);
  EXPECT_EQ(history.metrics.at("eval/").values, (std::vector<double>{1e308, -1e308}));
  EXPECT_EQ(history.metrics.size(), 3U);
  const LineChart chart("", {.x = {{"step", "Step"}}, .y_label = ""},
                        {metric_series(history, "eval/", "", 0, 100)});
  EXPECT_TRUE(chart.markup().ends_with("</svg>"));
}

TEST(ShownPoints, KeepExtremesAndEnds) {
  std::vector<double> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<double>(i) / 500);
  }
  values[4321] = 50;
  values[8765] = -50;
  const auto shown = shown_points(values, 200);
  EXPECT_LE(shown.size(), 200U);
  EXPECT_GE(shown.size(), 100U);
  EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
  for (const std::size_t index :
       {std::size_t{0}, std::size_t{4321}, std::size_t{8765}, values.size() - 1}) {
    EXPECT_TRUE(std::ranges::binary_search(shown, index)) << index;
  }
  EXPECT_EQ(shown_points({1, 2, 3}, 200), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(shown_points({}, 200).empty());
}

}  // namespace
}  // namespace weft::report
