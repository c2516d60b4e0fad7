#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kSentenceTagConfig = R"(
model: {type: bert, dim: 32, layers: 2, dropout: 0, attention: {heads: 2}, feed_forward: {width: 64},
        position: {length: 16}, document: {type: TYPE, layers: 1, STACKSsentences: 4, sentence_length: 12}}
tokenizer: {type: wordpiece, vocab_size: 60, train_on: data}
data: {train: [{path: WORK/train.jsonl}], evaluate: [{path: WORK/train.jsonl}], cache_dir: WORK/cache}
objective: {type: tag}
train:
  duration: 150 steps
  batch_sequences: 4
  optimizer: {type: adamw, lr: 3e-3}
  schedule: {type: linear, warmup: 10 steps}
  precision: fp32
  evaluate_every: never
  threads: 1
run: {directory: WORK/run, seed: 3, keep: {best: 0, last: 1}}
)";

/// The tag of the later sentences depends on the first one.
constexpr const char* kTaggedSentences =
    R"({"sentences": ["Ask about Oslo.", "Oslo is cold. So it is.", "Turin is warm."], "labels": ["no", "key", "key"]}
{"sentences": ["Hear about Turin.", "Oslo is cold. So it is.", "Turin is warm."], "labels": ["no", "no", "no"]}
{"sentences": ["Ask about Turin.", "Turin is warm.", "Oslo is cold. So it is."], "labels": ["no", "key", "key"]}
{"sentences": ["Hear about Oslo.", "Turin is warm.", "Oslo is cold. So it is."], "labels": ["no", "no", "no"]}
)";

/// A model that tags sentences, trained once for each type.
class SentenceTagger {
 public:
  explicit SentenceTagger(const std::string& type, const std::vector<std::string>& more = {}) {
    test::write(work_ / "train.jsonl", kTaggedSentences);
    auto config = test::filled(kSentenceTagConfig, "WORK", work_.path());
    config = test::filled(config, "TYPE", type);
    config = test::filled(config, "STACKS", type == "hibert" ? "" : "stacks: 1, ");
    test::write(work_ / "config.yaml", config);
    std::vector<std::string> command = {"train", work_ / "config.yaml"};
    command.insert(command.end(), more.begin(), more.end());
    const auto done = test::weft(command);
    EXPECT_EQ(done.status, 0) << done.err;
    log = done.err;
  }

  std::string path(const std::string& name) const { return work_ / name; }
  std::string model() const { return work_ / "run"; }
  OrderedJson evaluate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"evaluate", model(), "--data", path("train.jsonl")};
    command.insert(command.end(), more.begin(), more.end());
    const auto done = test::weft(command);
    EXPECT_EQ(done.status, 0) << done.err;
    return OrderedJson::parse(done.out);
  }
  OrderedJson answer(const OrderedJson& row) const {
    const auto done = test::weft({"predict", model()}, row.dump() + "\n");
    EXPECT_EQ(done.status, 0) << done.err;
    return OrderedJson::parse(done.out);
  }

  std::string log;

 private:
  test::TemporaryDirectory work_;
};

const SentenceTagger& sentence_tagger() {
  static const SentenceTagger tagger("hibert");
  return tagger;
}

TEST(SentenceTagRun, LearnsDocumentsAndEvaluates) {
  const auto metrics = sentence_tagger().evaluate();
  EXPECT_EQ(metrics["eval_accuracy"], 1.0) << metrics;
  EXPECT_EQ(metrics["eval_f1"], 1.0);
  EXPECT_LT(metrics["eval_loss"], 0.1);
  EXPECT_EQ(metrics["per_class"]["key"]["f1"], 1.0);
  EXPECT_EQ(metrics["per_class"]["key"]["support"], 4);
  EXPECT_NE(sentence_tagger().log.find("key 4"), std::string::npos) << sentence_tagger().log;
}

TEST(SentenceTagRun, LearnsWithBothTypes) {
  EXPECT_EQ(SentenceTagger("hi_transformer").evaluate()["eval_accuracy"], 1.0);
}

/// A sentence with two tags is then right in half of the documents.
TEST(SentenceTagRun, WithoutLayersOfTheDocumentSeesOneSentenceOnly) {
  const SentenceTagger tagger("hibert", {"--set", "model.document.layers=0"});
  EXPECT_LE(tagger.evaluate()["eval_accuracy"].get<double>(), 8.01 / 12);
}

TEST(SentenceTagRun, PredictsATagForEachGivenSentence) {
  const OrderedJson sentences = {"Ask about Turin.", "Turin is warm.", "Oslo is cold. So it is."};
  const auto line = sentence_tagger().answer({{"sentences", sentences}});
  EXPECT_EQ(line["sentences"], sentences);
  EXPECT_EQ(line["tags"], (OrderedJson{"no", "key", "key"}));
  ASSERT_EQ(line["scores"].size(), 3U);
  EXPECT_GT(line["scores"][1], 0.5);
  EXPECT_EQ(sentence_tagger().answer({{"sentences", OrderedJson::array()}})["tags"],
            OrderedJson::array());
}

TEST(SentenceTagRun, DividesTexts) {
  const auto line = sentence_tagger().answer({{"text", "Ask about Oslo. Turin is warm.\nOslo."}});
  EXPECT_EQ(line["sentences"], (OrderedJson{"Ask about Oslo.", "Turin is warm.", "Oslo."}));
  EXPECT_EQ(line["tags"].size(), 3U);
}

TEST(SentenceTagRun, SentencesBeyondTheLimitHaveNoTag) {
  const OrderedJson sentences = {"Oslo.", "Turin.", "Oslo.", "Turin.", "Oslo."};
  const auto done = test::weft({"predict", sentence_tagger().model()},
                               OrderedJson({{"sentences", sentences}}).dump() + "\n");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto line = OrderedJson::parse(done.out);
  EXPECT_EQ(line["sentences"].size(), 5U);
  EXPECT_TRUE(line["tags"][3].is_string());
  EXPECT_TRUE(line["tags"][4].is_null());
  EXPECT_TRUE(line["scores"][4].is_null());
  EXPECT_NE(done.err.find("1 document longer than the model's maximum of 4 sentences of 12 tokens "
                          "was truncated"),
            std::string::npos)
      << done.err;
  test::write(
      sentence_tagger().path("long.jsonl"),
      OrderedJson({{"sentences", sentences}, {"labels", {"no", "no", "no", "no", "key"}}}).dump() +
          "\n");
  const auto evaluated = test::weft(
      {"evaluate", sentence_tagger().model(), "--data", sentence_tagger().path("long.jsonl")});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(OrderedJson::parse(evaluated.out)["per_class"]["key"]["support"], 0);
  EXPECT_NE(evaluated.err.find("was truncated, 1 sentence was dropped"), std::string::npos)
      << evaluated.err;
}

TEST(SentenceTagRun, MetricsDoNotDependOnBatches) {
  const auto together = sentence_tagger().evaluate();
  const auto apart = sentence_tagger().evaluate({"--batch-tokens", "1"});
  EXPECT_NEAR(together["eval_loss"].get<double>(), apart["eval_loss"].get<double>(), 1e-6);
}

TEST(SentenceTagRun, WritesTheWorstDocumentsSentenceBySentence) {
  test::write(
      sentence_tagger().path("hard.jsonl"),
      R"({"sentences": ["Hear about Oslo.", "Oslo is cold. So it is."], "labels": ["key", "key"]})"
      "\n");
  const auto file = sentence_tagger().path("worst.jsonl");
  const auto done = test::weft({"evaluate", sentence_tagger().model(), "--data",
                                sentence_tagger().path("hard.jsonl"), "--hardest", file});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto worst = OrderedJson::parse(test::contents(file));
  EXPECT_EQ(worst["sentences"], (OrderedJson{"Hear about Oslo.", "Oslo is cold. So it is."}));
  EXPECT_EQ(worst["tags"], (OrderedJson{"key", "key"}));
  EXPECT_EQ(worst["predictions"][0], "no");
  EXPECT_FALSE(worst.contains("words"));
}

TEST(SentenceTagRun, ErrorsNameTheRow) {
  const auto error_of = [](const std::string& row) {
    const auto done = test::weft({"predict", sentence_tagger().model()}, row + "\n");
    EXPECT_EQ(done.status, 2);
    return done.err;
  };
  EXPECT_NE(
      error_of("{\"sentences\": [1]}").find("\"sentences\" has an entry that is not a string"),
      std::string::npos);
  EXPECT_NE(error_of("{\"words\": [\"a\"]}").find("no list of \"sentences\" and no \"text\""),
            std::string::npos);
  test::write(sentence_tagger().path("bad.conll"), "Oslo no\n");
  const auto done = test::weft(
      {"evaluate", sentence_tagger().model(), "--data", sentence_tagger().path("bad.conll")});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("documents of sentences with tags must be in jsonl or parquet files"),
            std::string::npos)
      << done.err;
  const auto attention =
      test::weft({"predict", sentence_tagger().model(), "--attention=all"}, "{\"text\": \"a\"}\n");
  EXPECT_EQ(attention.status, 2);
}

}  // namespace
}  // namespace weft::cli
