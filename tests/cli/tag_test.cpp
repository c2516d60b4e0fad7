#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kTagConfig = R"(
model: {preset: bert-tiny, dim: 32, layers: 2, attention: {type: full, heads: 2},
        position: {type: learned, length: 16}, feed_forward: {width: 64}, dropout: 0}
tokenizer: {type: wordpiece, vocab_size: 45, train_on: data}
data: {train: [{path: WORK/train.conll}], evaluate: [{path: WORK/train.conll}], cache_dir: WORK/cache}
objective: {type: tag}
train:
  duration: 120 steps
  batch_sequences: 8
  optimizer: {type: adamw, lr: 1e-2}
  precision: fp32
  evaluate_every: never
  threads: 1
run: {directory: WORK/run, seed: 3, keep: {best: 0, last: 1}}
)";

constexpr const char* kSentences =
    "Ada B-PER\nMoss I-PER\nsaw O\nTurin B-LOC\n. O\n\n"
    "Ruth B-PER\nHale I-PER\nsaw O\nOslo B-LOC\n. O\n\n"
    "Oslo B-LOC\nsaw O\nAda B-PER\n. O\n\n"
    "Turin B-LOC\nsaw O\nRuth B-PER\n. O\n";

/// A tagger that has memorised its four sentences, trained once.
class Tagger {
 public:
  Tagger() {
    test::write(work_ / "train.conll", kSentences);
    test::write(work_ / "config.yaml", test::filled(kTagConfig, "WORK", work_.path()));
    done = test::weft({"train", work_ / "config.yaml"});
  }

  std::string path(const std::string& name) const { return work_ / name; }
  std::string model() const { return work_ / "run"; }

  test::ProcessResult done;

 private:
  test::TemporaryDirectory work_;
};

const Tagger& tagger() {
  static const Tagger tagger;
  return tagger;
}

OrderedJson answer(const std::string& line, const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {"predict", tagger().model()};
  command.insert(command.end(), more.begin(), more.end());
  const auto done = test::weft(command, line + "\n");
  EXPECT_EQ(done.status, 0) << done.err;
  return done.status == 0 ? OrderedJson::parse(done.out) : OrderedJson();
}

TEST(TagRun, LearnsFourSentencesAndEvaluates) {
  ASSERT_EQ(tagger().done.status, 0) << tagger().done.err;
  const auto done =
      test::weft({"evaluate", tagger().model(), "--data", tagger().path("train.conll")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto metrics = OrderedJson::parse(done.out);
  EXPECT_EQ(metrics["eval_f1"], 1.0) << done.out;
  EXPECT_EQ(metrics["eval_accuracy"], 1.0);
  EXPECT_LT(metrics["eval_loss"], 0.1);
  EXPECT_EQ(metrics["per_class"]["PER"]["support"], 4);
  const auto config = OrderedJson::parse(test::contents(tagger().model() + "/last/config.json"));
  EXPECT_EQ(config["architectures"][0], "BertForTokenClassification");
  EXPECT_EQ(config["id2label"]["0"], "B-LOC");
}

TEST(TagRun, EvaluatesTheSameFromJsonLines) {
  test::write(tagger().path("dev.jsonl"),
              "{\"words\": [\"Oslo\", \"saw\", \"Ada\", \".\"], \"labels\": "
              "[\"B-LOC\", \"O\", \"B-PER\", \"O\"]}\n");
  const auto done =
      test::weft({"evaluate", tagger().model(), "--data", tagger().path("dev.jsonl")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(OrderedJson::parse(done.out)["eval_f1"], 1.0);
}

TEST(TagRun, WritesTheWorstSentencesWordByWord) {
  test::write(tagger().path("hard.conll"),
              "Ada B-PER\nsaw O\n\nOslo B-PER\nsaw O\nAda B-PER\n. O\n");
  const auto file = tagger().path("worst.jsonl");
  const auto done = test::weft(
      {"evaluate", tagger().model(), "--data", tagger().path("hard.conll"), "--hardest", file});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto written = test::contents(file);
  const auto worst = OrderedJson::parse(written.substr(0, written.find('\n')));
  EXPECT_TRUE(worst["place"].get<std::string>().ends_with("hard.conll:4"));
  EXPECT_EQ(worst["words"], (OrderedJson{"Oslo", "saw", "Ada", "."}));
  EXPECT_EQ(worst["tags"], (OrderedJson{"B-PER", "O", "B-PER", "O"}));
  EXPECT_EQ(worst["predictions"], (OrderedJson{"B-LOC", "O", "B-PER", "O"}));
  ASSERT_EQ(worst["scores"].size(), 4U);
  EXPECT_GT(worst["scores"][0], 0.5);
  EXPECT_GT(worst["loss"], 0.5);
}

TEST(TagRun, BlankLinesAreSkipped) {
  const auto done =
      test::weft({"predict", tagger().model()}, "{\"text\": \"Ada\"}\n\n{\"text\": \"Oslo\"}\n \n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(std::count(done.out.begin(), done.out.end(), '\n'), 2);
  EXPECT_NE(done.err.find("2 blank input lines were skipped"), std::string::npos) << done.err;
}

TEST(TagRun, UnknownTagIsReportedWithItsLine) {
  test::write(tagger().path("bad.conll"), "Ada B-PER\nsaw O\nOslo B-LOX\n");
  const auto done =
      test::weft({"evaluate", tagger().model(), "--data", tagger().path("bad.conll")});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("bad.conll:3: 'B-LOX' is not one of the classes"), std::string::npos)
      << done.err;
}

TEST(TagRun, FindsEntitiesInText) {
  const auto line = answer("{\"text\": \"  Ruth Hale saw Oslo.\"}");
  EXPECT_EQ(line["words"], (OrderedJson{"Ruth", "Hale", "saw", "Oslo", "."}));
  EXPECT_EQ(line["tags"], (OrderedJson{"B-PER", "I-PER", "O", "B-LOC", "O"}));
  ASSERT_EQ(line["entities"].size(), 2U);
  EXPECT_EQ(line["entities"][0]["type"], "PER");
  EXPECT_EQ(line["entities"][0]["text"], "Ruth Hale");
  EXPECT_EQ(line["entities"][0]["start"], 2);
  EXPECT_EQ(line["entities"][0]["end"], 11);
  EXPECT_GT(line["entities"][0]["score"], 0.5);
  EXPECT_EQ(line["entities"][1]["text"], "Oslo");
  EXPECT_EQ(line["scores"].size(), 5U);
}

TEST(TagRun, TakesWordsAsTheyAre) {
  const auto line = answer("{\"words\": [\"Turin\", \"saw\", \"Ruth\", \".\"]}");
  EXPECT_EQ(line["tags"], (OrderedJson{"B-LOC", "O", "B-PER", "O"}));
  EXPECT_EQ(line["entities"][1]["start"], 10);
  EXPECT_EQ(line["entities"][1]["text"], "Ruth");
  EXPECT_EQ(answer("{\"words\": []}")["tags"], OrderedJson::array());
}

TEST(TagRun, ReadsTables) {
  const auto answers = [](const std::string& file, const std::vector<std::string>& options = {}) {
    std::vector<std::string> command = {"predict", tagger().model(), "--input", file};
    command.insert(command.end(), options.begin(), options.end());
    const auto done = test::weft(command);
    EXPECT_EQ(done.status, 0) << done.err;
    return test::json_lines<OrderedJson>(done.out);
  };
  const auto wanted = answer("{\"text\": \"Ruth saw Oslo.\"}");
  test::write(tagger().path("ask.csv"), "id,Sentence\n7,Ruth saw Oslo.\n");
  EXPECT_EQ(answers(tagger().path("ask.csv")).at(0)["entities"], wanted["entities"]);
  test::write(tagger().path("ask.tsv"), "note\tbody\nx\tRuth saw Oslo.\n");
  EXPECT_EQ(answers(tagger().path("ask.tsv"), {"--text-column", "body"}).at(0)["entities"],
            wanted["entities"]);
  const auto words = answers(WEFT_SOURCE_DIR "/tests/reference/parquet/tagged.parquet");
  EXPECT_EQ(words.at(0)["words"], (OrderedJson{"Ada", "met", "Bo"}));
  EXPECT_EQ(words.at(1)["words"], (OrderedJson{"Hi"}));
}

TEST(TagRun, LongTextsAreSplit) {
  std::string words;
  for (int i = 0; i < 30; ++i) {
    words += "Ada saw Oslo . ";
  }
  const auto done = test::weft({"predict", tagger().model()}, "{\"text\": \"" + words + "\"}\n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(OrderedJson::parse(done.out)["tags"].size(), 120U);
  EXPECT_NE(done.err.find("1 sentence longer than the model's maximum of 16 tokens was split"),
            std::string::npos)
      << done.err;
}

TEST(TagRun, LineWithoutTextIsReportedWithItsLocation) {
  const auto done =
      test::weft({"predict", tagger().model()}, "{\"text\": \"Ada\"}\n{\"txt\": 1}\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("standard input:2: no \"text\" and no list of \"words\""),
            std::string::npos)
      << done.err;
}

TEST(Attention, RowsAddUpToOne) {
  const auto line = answer("{\"text\": \"Ada saw Oslo.\"}", {"--attention", "all"});
  const auto length = line["tokens"].size();
  EXPECT_EQ(line["tokens"][0], "[CLS]");
  ASSERT_EQ(line["attention"].size(), 2U);
  for (const auto& [layer, heads] : line["attention"].items()) {
    ASSERT_EQ(heads.size(), 2U) << layer;
    for (const auto& head : heads) {
      ASSERT_EQ(head.size(), length);
      for (const auto& row : head) {
        double sum = 0;
        for (const auto& weight : row) {
          sum += weight.get<double>();
        }
        EXPECT_EQ(row.size(), length);
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
  }
}

TEST(Attention, ShowsTheLayersThatAreAskedFor) {
  const auto last = answer("{\"text\": \"Ada\"}", {"--attention", "last"});
  EXPECT_EQ(last["attention"].size(), 1U);
  EXPECT_TRUE(last["attention"].contains("1"));
  EXPECT_TRUE(answer("{\"text\": \"Ada\"}", {"--attention", "0"})["attention"].contains("0"));
  EXPECT_FALSE(answer("{\"text\": \"Ada\"}").contains("attention"));
  for (const std::string wrong : {"2", "-1", "first", "", "0,,1"}) {
    const auto done = test::weft({"predict", tagger().model(), "--attention=" + wrong}, "");
    EXPECT_EQ(done.status, 2) << wrong;
    EXPECT_NE(done.err.find("allowed is all, last, or layer numbers from 0 to 1"),
              std::string::npos)
        << done.err;
  }
}

}  // namespace
}  // namespace weft::cli
