#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kInferenceConfig = R"(
model: {preset: bert-tiny, dim: 32, layers: 2, attention: {type: full, heads: 2},
        position: {type: learned, length: 32}, feed_forward: {width: 64}, dropout: 0}
tokenizer: {type: wordpiece, vocab_size: 26, train_on: data}
data: {train: [{path: WORK/rows.tsv}], evaluate: [{path: WORK/rows.tsv}], cache_dir: WORK/cache}
objective: {type: classify}
train:
  duration: 60 steps
  batch_sequences: 8
  optimizer: {type: adamw, lr: 5e-3}
  precision: fp32
  threads: 1
run: {directory: WORK/run, seed: 3, keep: {best: 0, last: 1}}
)";

/// A classifier that has learnt a few rows of differing lengths.
class Classifier {
 public:
  Classifier() {
    std::string rows = "label\ttext\n";
    for (int i = 0; i < 24; ++i) {
      const bool is_good = i % 3 != 0;
      std::string text = is_good ? "good" : "bad";
      for (int k = 0; k < i % 7; ++k) {
        text += k % 2 == 0 ? " man" : " dog";
      }
      rows += (is_good ? "yes\t" : "no\t") + text + "\n";
    }
    test::write(work_ / "rows.tsv", rows);
    test::write(work_ / "config.yaml", test::filled(kInferenceConfig, "WORK", work_.path()));
    done = test::weft({"train", work_ / "config.yaml"});
  }

  std::string model() const { return work_ / "run"; }
  std::string rows() const { return work_ / "rows.tsv"; }

  test::ProcessResult done;

 private:
  test::TemporaryDirectory work_;
};

const Classifier& classifier() {
  static const Classifier made;
  return made;
}

const std::vector<std::vector<std::string>> kWays = {
    {}, {"--precision", "bf16"}, {"--int8"}, {"--int8", "--precision", "bf16"}};

test::ProcessResult asked(const std::string& command,
                          const std::vector<std::string>& rest,
                          const std::vector<std::string>& way) {
  std::vector<std::string> all = {command, classifier().model()};
  all.insert(all.end(), rest.begin(), rest.end());
  all.insert(all.end(), way.begin(), way.end());
  return test::weft(all);
}

TEST(Inference, EvaluationShowsTheCostOfAFormat) {
  ASSERT_EQ(classifier().done.status, 0) << classifier().done.err;
  double exact = 0;
  for (const auto& way : kWays) {
    const auto done = asked("evaluate", {"--data", classifier().rows()}, way);
    ASSERT_EQ(done.status, 0) << done.err;
    const auto metrics = OrderedJson::parse(done.out);
    EXPECT_EQ(metrics["eval_accuracy"], 1.0);
    const double loss = metrics["eval_loss"];
    exact = way.empty() ? loss : exact;
    EXPECT_EQ(loss == exact, way.empty());
    EXPECT_NEAR(loss, exact, 0.02 + 0.2 * exact);
  }
}

TEST(Inference, PredictionsKeepTheirOrderInEveryFormat) {
  const auto exact =
      test::json_lines<OrderedJson>(asked("predict", {"--input", classifier().rows()}, {}).out);
  ASSERT_EQ(exact.size(), 24U);
  for (const auto& way : kWays) {
    const auto done = asked("predict", {"--input", classifier().rows()}, way);
    ASSERT_EQ(done.status, 0) << done.err;
    const auto found = test::json_lines<OrderedJson>(done.out);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i]["label"], i % 3 != 0 ? "yes" : "no");
      EXPECT_NEAR(found[i]["score"].get<double>(), exact[i]["score"].get<double>(), 0.05);
    }
  }
}

TEST(Inference, VectorsStayNearThoseOfFp32) {
  const auto exact =
      test::json_lines<OrderedJson>(asked("embed", {"--input", classifier().rows()}, {}).out);
  ASSERT_EQ(exact.size(), 24U);
  for (const auto& way : kWays) {
    const auto found =
        test::json_lines<OrderedJson>(asked("embed", {"--input", classifier().rows()}, way).out);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto a = found[i]["embedding"].get<std::vector<double>>();
      const auto b = exact[i]["embedding"].get<std::vector<double>>();
      double difference = 0;
      double norm = 0;
      for (std::size_t k = 0; k < a.size(); ++k) {
        difference += (a[k] - b[k]) * (a[k] - b[k]);
        norm += b[k] * b[k];
      }
      EXPECT_LT(std::sqrt(difference / norm), 0.05);
    }
  }
}

TEST(Inference, UnknownFormatErrorListsTheFormats) {
  const auto done = asked("predict", {"--precision", "int4"}, {});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("--precision: 'int4' is not one of fp32, bf16, auto"), std::string::npos)
      << done.err;
}

}  // namespace
}  // namespace weft::cli
