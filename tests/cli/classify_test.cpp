#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kClassifyConfig = R"(
model: {preset: bert-tiny, dim: 16, layers: 1, attention: {type: full, heads: 2},
        position: {type: learned, length: 32}, feed_forward: {width: 32}, dropout: 0}
tokenizer: {type: wordpiece, vocab_size: VOCABULARY, train_on: data}
data: {train: [{path: WORK/TRAIN}], evaluate: [{path: WORK/TRAIN}], cache_dir: WORK/cache}
objective: OBJECTIVE
train:
  duration: 60 steps
  batch_sequences: 8
  optimizer: {type: adamw, lr: 1e-2}
  precision: fp32
  evaluate_every: 60 steps
  threads: 1
run: {directory: WORK/run, seed: 3, keep: {best: 0, last: 1}}
)";

/// A trained run in a temporary directory, created once for each kind.
class TrainedRun {
 public:
  TrainedRun(const std::string& table, const std::string& rows, const std::string& objective) {
    test::write(work_ / table, rows);
    std::string config = kClassifyConfig;
    const std::vector<std::pair<std::string, std::string>> placeholders = {
        {"VOCABULARY", table == "train.tsv"     ? "42"
                       : table == "train.jsonl" ? "28"
                                                : "26"},
        {"WORK", work_.path()},
        {"TRAIN", table},
        {"OBJECTIVE", objective}};
    for (const auto& [placeholder, value] : placeholders) {
      config = test::filled(config, placeholder, value);
    }
    test::write(work_ / "config.yaml", config);
    done = test::weft({"train", work_ / "config.yaml"});
  }

  std::string path(const std::string& name) const { return work_ / name; }
  std::string model() const { return work_ / "run"; }

  test::ProcessResult done;

 private:
  test::TemporaryDirectory work_;
};

const TrainedRun& classes() {
  static const TrainedRun run("train.tsv",
                              "label\ttext\ngood\tfine film\nbad\tpoor film\ngood\tfine play\n"
                              "bad\tpoor play\ngood\tfine song\nbad\tpoor song\n",
                              "{type: classify, class_weights: {good: 2}}");
  return run;
}

const TrainedRun& flags() {
  static const TrainedRun run("train.jsonl",
                              "{\"text\": \"red house\", \"label\": [\"red\"]}\n"
                              "{\"text\": \"big house\", \"label\": [\"big\"]}\n"
                              "{\"text\": \"big red house\", \"label\": [\"big\", \"red\"]}\n"
                              "{\"text\": \"house\", \"label\": []}\n",
                              "{type: classify, multi_label: true, class_weights: balanced, "
                              "tune_threshold: f1}");
  return run;
}

TEST(Evaluate, ShowsClassesAndTheConfusionMatrixInOneObject) {
  ASSERT_EQ(classes().done.status, 0) << classes().done.err;
  const auto done =
      test::weft({"evaluate", classes().model(), "--data", classes().path("train.tsv")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = OrderedJson::parse(done.out);
  EXPECT_EQ(found["eval_accuracy"], 1.0);
  EXPECT_EQ(found["labels"], OrderedJson::array({"bad", "good"}));
  EXPECT_EQ(found["positive_label"], "good");
  EXPECT_NE(classes().done.err.find("[data] train: 6 rows of 2 classes: bad 3 (50.00 %), good 3"),
            std::string::npos)
      << classes().done.err;
  EXPECT_NE(classes().done.err.find("[data] positive class of F1, precision, recall and ROC: good, "
                                    "the second of two equal ones"),
            std::string::npos)
      << classes().done.err;
  EXPECT_EQ(found["per_class"]["good"]["support"], 3);
  EXPECT_EQ(found["confusion_matrix"], OrderedJson::array({{3, 0}, {0, 3}}));
  const auto log = test::contents(classes().model() + "/metrics.jsonl");
  EXPECT_EQ(log.find("per_class"), std::string::npos);
}

TEST(Evaluate, ShowsProgressOnATerminalUnlessAnswersAreWrittenThere) {
  if (test::run({"script", "--version"}).status != 0) {
    GTEST_SKIP() << "needs the program script of util-linux";
  }
  const auto on_terminal = [](const std::string& arguments) {
    const auto command = std::string(WEFT_BINARY) + " " + arguments;
    return test::run({"script", "--quiet", "--return", "--command", command, "/dev/null"}).out;
  };
  const auto shows = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const auto table = classes().path("train.tsv");
  const auto evaluated = on_terminal("evaluate " + classes().model() + " --data " + table);
  EXPECT_TRUE(shows(evaluated, "\revaluating  0 %\033[K")) << evaluated;
  const auto predict = "predict " + classes().model() + " --input " + table;
  const auto to_file = on_terminal(predict + " --output " + classes().path("answers.jsonl"));
  EXPECT_TRUE(shows(to_file, "\rpredicting\033[K")) << to_file;
  const auto to_terminal = on_terminal(predict);
  EXPECT_TRUE(shows(to_terminal, "\"label\":\"good\"")) << to_terminal;
  EXPECT_FALSE(shows(to_terminal, "\rpredicting")) << to_terminal;
}

TEST(Evaluate, WritesTheWorstExamplesFirst) {
  test::write(classes().path("hard.tsv"),
              "label\ttext\ngood\tfine film\ngood\tpoor film\nbad\tpoor play\n");
  const auto file = classes().path("worst.jsonl");
  const auto done = test::weft({"evaluate", classes().model(), "--data", classes().path("hard.tsv"),
                                "--hardest", file, "--hardest-limit", "2"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto worst = test::json_lines<OrderedJson>(test::contents(file));
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_TRUE(worst[0]["place"].get<std::string>().ends_with("hard.tsv, row 2"));
  EXPECT_EQ(worst[0]["text"], "poor film");
  EXPECT_EQ(worst[0]["label"], "good");
  EXPECT_EQ(worst[0]["prediction"], "bad");
  EXPECT_GT(worst[0]["loss"], worst[1]["loss"]);
  EXPECT_EQ(worst[0]["scores"]["bad"], worst[0]["score"]);
  const auto alone = test::weft({"evaluate", classes().model(), "--data",
                                 classes().path("hard.tsv"), "--hardest-limit", "2"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.err, "error: weft evaluate: --hardest-limit needs --hardest FILE\n");
}

TEST(Evaluate, ALabelThatTrainingDidNotHaveIsNamed) {
  test::write(classes().path("new.tsv"), "label\ttext\nodd\tfine film\n");
  const auto done =
      test::weft({"evaluate", classes().model(), "--data", classes().path("new.tsv")});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("new.tsv, row 1: 'odd' is not one of the classes bad, good"),
            std::string::npos)
      << done.err;
}

// GPT-2's tokenizer adds nothing: a text without tokens must not become an empty sequence.
TEST(Classify, EmptyTextsWithoutSpecialTokensAreTexts) {
  const test::TemporaryDirectory work;
  test::write(work / "train.csv",
              "label,text,text_pair\nempty,,\nfull,fine film,fine play\nfull,,fine song\n");
  test::write(
      work / "config.yaml",
      "model: {type: gpt2, dim: 16, layers: 1, attention: {heads: 2},\n"
      "        position: {length: 32}}\n"
      "tokenizer: {type: byte_level_bpe, vocab_size: 260}\n"
      "data: {train: [{path: " +
          (work / "train.csv") +
          "}],\n"
          "       evaluate: [{path: " +
          (work / "train.csv") +
          "}],\n"
          "       cache_dir: " +
          (work / "cache") +
          "}\n"
          "objective: {type: classify}\n"
          "train: {duration: 60 steps, batch_sequences: 3, optimizer: {type: adamw, lr: 1e-2}}\n"
          "run: {directory: " +
          (work / "run") + "}\n");
  const auto trained = test::weft({"train", work / "config.yaml"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.err.find("train.csv: 2 rows with an empty text were kept"), std::string::npos)
      << trained.err;
  const auto done = test::weft({"predict", work / "run"},
                               "{\"text\": \"\", \"text_pair\": \"\"}\n"
                               "{\"text\": \"fine film\", \"text_pair\": \"fine play\"}\n");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto lines = test::json_lines<OrderedJson>(done.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["label"], "empty");
  EXPECT_EQ(lines[1]["label"], "full");
  // transformers finds the last token of a sequence in a batch by the padding after it.
  const auto config = formats::read_json(work / "run/last/config.json");
  EXPECT_EQ(config.at("pad_token_id"), config.at("eos_token_id"));
  EXPECT_EQ(formats::read_json(work / "run/last/tokenizer_config.json").at("pad_token"),
            "<|endoftext|>");
}

TEST(Predict, ReadsTablesAndJsonLinesAlike) {
  ASSERT_EQ(classes().done.status, 0) << classes().done.err;
  test::write(classes().path("ask.tsv"), "text\tlabel\nfine film\tx\n\ty\npoor song\tz\n");
  test::write(classes().path("ask.csv"), "id,sentence\n1,fine film\n2,\n3,poor song\n");
  test::write(classes().path("ask.jsonl"),
              "{\"sentence1\": \"fine film\"}\n{\"text\": \"\"}\n{\"text\": \"poor song\"}\n");
  std::string first;
  const std::string parquet = WEFT_SOURCE_DIR "/tests/reference/parquet/";
  std::filesystem::copy_file(parquet + "ask.parquet", classes().path("ask.parquet"));
  for (const auto* name : {"ask.tsv", "ask.csv", "ask.jsonl", "ask.parquet"}) {
    const auto done = test::weft({"predict", classes().model(), "--input", classes().path(name)});
    ASSERT_EQ(done.status, 0) << done.err;
    first = first.empty() ? done.out : first;
    EXPECT_EQ(done.out, first) << name;
    EXPECT_NE(done.err.find("1 of 3 texts are empty"), std::string::npos) << done.err;
  }
  const auto lines = test::json_lines<OrderedJson>(first);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["label"], "good");
  EXPECT_EQ(lines[2]["label"], "bad");
  const auto done =
      test::weft({"predict", classes().model(), "--input", parquet + "small.parquet"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("small.parquet, row 3: no field `text`, every row must have it"),
            std::string::npos)
      << done.err;
}

TEST(Predict, BlankLinesAreSkippedAndCounted) {
  ASSERT_EQ(classes().done.status, 0) << classes().done.err;
  test::write(classes().path("gaps.tsv"), "text\tlabel\n\nfine film\tgood\n\npoor song\tbad\n");
  test::write(classes().path("gaps.csv"), "text\nfine film\r\n\r\n\npoor song\n");
  test::write(classes().path("gaps.jsonl"),
              "{\"text\": \"fine film\"}\n\n  \n{\"text\": \"poor song\"}\n");
  for (const auto* name : {"gaps.tsv", "gaps.csv", "gaps.jsonl"}) {
    const auto done = test::weft({"predict", classes().model(), "--input", classes().path(name)});
    ASSERT_EQ(done.status, 0) << done.err;
    const auto lines = test::json_lines<OrderedJson>(done.out);
    ASSERT_EQ(lines.size(), 2U) << name;
    EXPECT_EQ(lines[0]["label"], "good");
    EXPECT_EQ(lines[1]["label"], "bad");
    EXPECT_NE(done.err.find("2 blank input lines were skipped"), std::string::npos) << done.err;
  }
  const auto done =
      test::weft({"evaluate", classes().model(), "--data", classes().path("gaps.tsv")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("gaps.tsv: 2 blank lines were ignored"), std::string::npos) << done.err;
}

TEST(Predict, TakesTheColumnOfTheTrainingData) {
  const auto model = classes().path("named");
  std::filesystem::copy(std::filesystem::canonical(classes().model() + "/last"), model,
                        std::filesystem::copy_options::recursive);
  const auto config = test::contents(model + "/weft.yaml");
  test::write(model + "/weft.yaml", test::filled(test::filled(config, "text: null", "text: body"),
                                                 "text_pair: null", "text_pair: more"));
  test::write(classes().path("body.csv"), "text,body\npoor song,fine film\n");
  const auto done = test::weft({"predict", model, "--input", classes().path("body.csv")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(test::json_lines<OrderedJson>(done.out).at(0)["label"], "good");
}

TEST(Predict, TakesNamedColumnsAndReportsMissingOnes) {
  test::write(classes().path("ask.csv"), "body,more\nfine film,play\n");
  const auto ask = [&](std::vector<std::string> more, const std::string& name) {
    more.insert(more.begin(), {"predict", classes().model(), "--input", classes().path(name)});
    return test::weft(more);
  };
  EXPECT_EQ(ask({"--text-column", "body", "--text-pair-column", "more"}, "ask.csv").status, 0);
  const auto slip = ask({"--text-column", "bdy"}, "ask.csv");
  EXPECT_EQ(slip.status, 2);
  EXPECT_NE(slip.err.find("no column 'bdy', did you mean 'body'?"), std::string::npos) << slip.err;
  EXPECT_NE(ask({}, "ask.csv").err.find("no column text or sentence1 or sentence"),
            std::string::npos);
  test::write(classes().path("pairs.jsonl"),
              "{\"text\": \"a\", \"text_pair\": \"b\"}\n{\"text\": \"a\"}\n");
  EXPECT_NE(ask({}, "pairs.jsonl").err.find("1 of 2 lines have no second text"), std::string::npos);
  EXPECT_NE(ask({"--text-pair-column", "text_pair"}, "pairs.jsonl")
                .err.find("pairs.jsonl:2: no \"text_pair\", every line must have one"),
            std::string::npos);
}

TEST(Predict, FlagsAboveTheTunedThresholdAreNamed) {
  ASSERT_EQ(flags().done.status, 0) << flags().done.err;
  const auto kept = OrderedJson::parse(test::contents(flags().model() + "/last/weft_task.json"));
  EXPECT_EQ(kept["tuned_by"], "f1");
  const auto config = OrderedJson::parse(test::contents(flags().model() + "/last/config.json"));
  EXPECT_EQ(config["problem_type"], "multi_label_classification");
  EXPECT_EQ(config["id2label"], (OrderedJson{{"0", "big"}, {"1", "red"}}));
  const auto done =
      test::weft({"predict", flags().model(), "--input", flags().path("train.jsonl")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto lines = test::json_lines<OrderedJson>(done.out);
  ASSERT_EQ(lines.size(), 4U);
  for (const auto& line : lines) {
    OrderedJson above = OrderedJson::array();
    for (const auto& [name, score] : line["scores"].items()) {
      if (score.get<double>() >= kept["threshold"].get<double>()) {
        above.push_back(name);
      }
    }
    EXPECT_EQ(line["labels"], above);
  }
  const auto metrics = OrderedJson::parse(
      test::weft({"evaluate", flags().model(), "--data", flags().path("train.jsonl")}).out);
  EXPECT_NEAR(metrics["eval_threshold"].get<double>(), kept["threshold"].get<double>(), 1e-9);
  EXPECT_EQ(metrics["confusion_matrix"]["red"], OrderedJson::array({{2, 0}, {0, 2}}));
}

TEST(Predict, SeveralNumbersAreNamed) {
  const TrainedRun run("train.csv", "text,label\nred house,\"[1, 0]\"\nbig house,\"[0, 1]\"\n",
                       "{type: regress}");
  ASSERT_EQ(run.done.status, 0) << run.done.err;
  const auto done = test::weft({"predict", run.model(), "--input", run.path("train.csv")});
  const auto lines = test::json_lines<OrderedJson>(done.out);
  ASSERT_EQ(lines.size(), 2U) << done.err;
  EXPECT_NEAR(lines[0]["values"]["LABEL_0"].get<double>(), 1, 0.3);
  EXPECT_NEAR(lines[0]["values"]["LABEL_1"].get<double>(), 0, 0.3);
}

}  // namespace
}  // namespace weft::cli
