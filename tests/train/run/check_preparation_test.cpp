// Configs that are read without an error, but whose files or metrics a run rejects.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "support/config.h"
#include "support/folder.h"
#include "train/run/run_config.h"

namespace weft::train {
namespace {

constexpr auto kLabelled = R"(model: {preset: bert-tiny, dim: 32, position: {length: 64}}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: rows.csv}], evaluate: [{path: rows.csv}]}
objective: {type: classify}
)";
constexpr auto kRunning = R"(model: {preset: bert-tiny, dim: 32, position: {length: 64}}
data: {train: [{path: a.txt}]}
objective: {type: mlm}
)";
constexpr auto kPairs = R"(model: {preset: t5-mini, dim: 32}
data: {train: [{path: pairs.tsv}]}
objective: {type: seq2seq}
)";

class CheckPreparation : public ::testing::Test {
 protected:
  CheckPreparation() {
    folder_.write("a.txt", "some text\n");
    folder_.write("empty.txt", "\n\n");
    folder_.write("empty.csv", "");
    folder_.write("rows.csv", "text,label\na good one,yes\na bad one,no\n");
    folder_.write("header.csv", "text,label\n");
    folder_.write("one.csv", "text,label\na,yes\nb,yes\n");
    folder_.write("other.csv", "text,label\na,maybe\n");
    folder_.write("unlabelled.csv", "text,label\na,\n");
    folder_.write("numbers.jsonl", "{\"text\": \"a\", \"score\": 1}\n");
    folder_.write("pairs.tsv", "source\ttarget\na b\tc d\n");
    folder_.write("de.txt", "eins\nzwei\n");
    folder_.write("en.txt", "one\n");
    folder_.write("names.conll", "Rome\n\n");
    std::filesystem::create_directory(folder_.path("stored"));
    folder_.write("stored/config.json",
                  R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 32,
"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 400})");
    std::filesystem::current_path(folder_.path());
  }
  ~CheckPreparation() override { std::filesystem::current_path(home_); }

  static std::string errors(const std::string& yaml, const std::vector<std::string>& overrides) {
    const auto document = config::Document::parse(yaml, "run.yaml", overrides);
    return test::message_of<config::Error>([&] { check_run_config(document); });
  }

  std::filesystem::path home_ = std::filesystem::current_path();
  test::Folder folder_;
};

struct Mistake {
  std::string base;
  std::vector<std::string> overrides;
  std::string place;  // where the error is shown
  std::string words;  // of its message
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> kAll = {
      {kLabelled, {"data.length=100"}, "data.length", "100 is more than the maximum of 64"},
      {kRunning, {"data.length=100"}, "data.length", "100 is more than the maximum of 64"},
      {kLabelled, {"train.best_by=eval_acuracy"}, "train.best_by", "eval_acc"},
      {kLabelled, {"train.best_by=eval_bleu"}, "train.best_by", "not one of"},
      {kLabelled,
       {"objective.class_weights={yes: 2, often: 1}"},
       "objective.class_weights",
       "'often'"},
      {kLabelled,
       {"objective.threshold=0.5", "data.train.1.path=other.csv"},
       "objective.threshold",
       "3 classes"},
      {kLabelled, {"data.train.0.path=header.csv"}, "data.train", "no rows"},
      {kLabelled, {"data.train.0.path=one.csv", "data.evaluate=[]"}, "objective.type", "one class"},
      {kLabelled, {"data.evaluate.0.path=other.csv"}, "data.evaluate.0", "'maybe'"},
      {kLabelled, {"data.train.0.path=empty.csv"}, "data.train.0.path", "empty"},
      {kLabelled,
       {"data.evaluate=[]", "data.split.evaluate=0.1"},
       "data.split.evaluate",
       "less than one row"},
      {kLabelled,
       {"train={batch_sequences: 1, duration: 2 steps, schedule: {warmup: 2 epochs}}"},
       "train.schedule.warmup",
       "longer than the run"},
      {kLabelled, {"data.train.0.path=unlabelled.csv"}, "data", "label"},
      {kLabelled, {"data.train.0.path=numbers.jsonl"}, "data", "label"},
      {kLabelled, {"data.evaluate.0.path=a.txt"}, "data", "a.txt"},
      {kRunning, {"data.train.0.path=empty.txt"}, "data.train", "no text"},
      {kRunning, {"data.evaluate.0.path=empty.txt"}, "data.evaluate", "no text"},
      {kRunning, {"data.train.0.path=pairs.tsv"}, "data.train", "text"},
      {kPairs, {"data.train.0.path=rows.csv"}, "data.train", "source"},
      {kPairs,
       {"data.train=[{source: empty.txt, target: empty.txt}]"},
       "data.train",
       "no text pairs"},
      {kRunning, {"run.directory=a.txt/run"}, "run.directory", "not a directory"},
      {kRunning, {"run.directory=/proc/run"}, "run.directory", "not writable"},
      {kLabelled, {"objective.type=tag", "data.train.0.path=names.conll"}, "data.train", "word"},
      {kRunning, {"tokenizer.file=a.txt"}, "tokenizer.file", "a.txt"},
      {kRunning,
       {"tokenizer={type: byte_level_bpe, vocab_size: 100}"},
       "tokenizer.vocab_size",
       "too small"},
      {kRunning,
       {"model={type: qwen2, dim: 32, layers: 2, attention: {heads: 4, key_value_heads: 2}, "
        "feed_forward: {width: 64}, position: {length: 64}}",
        "objective.type=causal", "tokenizer.type=wordpiece"},
       "tokenizer.type",
       "qwen2"},
  };
  return kAll;
}

TEST_F(CheckPreparation, RejectsWhatARunWouldReject) {
  for (const auto* base : {kLabelled, kRunning, kPairs}) {
    EXPECT_EQ(errors(base, {}), "(nothing was thrown)");
  }
  for (const auto& mistake : mistakes()) {
    const auto found = errors(mistake.base, mistake.overrides);
    const auto text = join(mistake.overrides, " ") + ": " + found;
    EXPECT_NE(found.find(": " + mistake.place), std::string::npos) << text;
    EXPECT_NE(found.find(mistake.words), std::string::npos) << text;
    EXPECT_EQ(found.find('\n'), std::string::npos) << text;
  }
}

TEST_F(CheckPreparation, MakesTheLayers) {
  const std::string causal =
      "model: {preset: gpt-mini, dim: 36, block: r, position: {type: none, length: 64}, recurrent: "
      "{cell: lstm, bidirectional: true}}\ndata: {train: [{path: a.txt}]}\nobjective: {type: "
      "causal}\n";
  EXPECT_NE(errors(causal, {}).find("model.recurrent.bidirectional: must be false"),
            std::string::npos)
      << errors(causal, {});
  const std::string encoder =
      "model: {preset: bert-tiny, dim: 32, block: r, position: {length: 64}, recurrent: {cell: "
      "lstm, "
      "bidirectional: true}}\ndata: {train: [{path: a.txt}]}\nobjective: {type: mlm}\n";
  EXPECT_NO_THROW(check_run_config(config::Document::parse(encoder, "run.yaml", {})));
}

TEST_F(CheckPreparation, NamesThePlaceOfEveryMistake) {
  EXPECT_EQ(errors(kRunning, {"data.length=100", "run.directory=a.txt", "train.clip_norm=-1",
                              "data.train.0.path=empty.txt"}),
            "--set train.clip_norm=-1: train.clip_norm: -1, must be a number > 0\n"
            "--set run.directory=a.txt: run.directory: 'a.txt': " +
                std::filesystem::absolute("a.txt").string() +
                " is not a directory\n"
                "--set data.length=100: data.length: 100 is more than the maximum of 64 positions "
                "of the model\n"
                "run.yaml:2:8: data.train: empty.txt: no text to train on");
}

TEST_F(CheckPreparation, ShowsAnUnknownMetricBesideWrongData) {
  const auto found =
      errors(kLabelled, {"train.best_by=eval_acuracy", "data.train.0.path=missing.csv"});
  EXPECT_NE(found.find("did you mean 'eval_accuracy'?"), std::string::npos) << found;
  EXPECT_NE(found.find("no such file"), std::string::npos) << found;
}

TEST_F(CheckPreparation, ReadsWeightsAndTokenizerOfTheModel) {
  const std::string base =
      "init_from: stored\ndata: {train: [{path: a.txt}]}\n"
      "objective: {type: mlm}\n";
  const auto found = errors(base, {});
  EXPECT_NE(found.find("run.yaml:1:12: init_from: stored"), std::string::npos) << found;
  EXPECT_NE(found.find("model.safetensors"), std::string::npos) << found;
  EXPECT_EQ(errors("init_from: bert-base-uncased" + base.substr(base.find('\n')), {}),
            "run.yaml:1:12: init_from: bert-base-uncased: model not found: the directory does not "
            "exist; a model of the Hugging Face Hub is downloaded with `hf download "
            "bert-base-uncased --local-dir bert-base-uncased`");
}

TEST_F(CheckPreparation, WritesNothing) {
  const auto files = [&] {
    return std::distance(std::filesystem::recursive_directory_iterator(folder_.path()), {});
  };
  const auto before = files();
  errors(kRunning, {"run.directory=runs/new", "data.cache_dir=cache"});
  errors(kLabelled, {"run.directory=runs/new", "train.best_by=eval_f1"});
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace weft::train
