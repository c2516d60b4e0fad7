#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A trigram model of the texts in data/, in a directory of its own.
class NgramRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_symlink(std::string(WEFT_SOURCE_DIR) + "/configs", directory_ / "configs");
    fs::create_symlink(std::string(WEFT_SOURCE_DIR) + "/data", directory_ / "data");
  }

  test::ProcessResult weft(const std::string& arguments) {
    return test::run(
        {"/bin/sh", "-c", "cd '" + directory_.path() + "' && exec '" WEFT_BINARY "' " + arguments});
  }
  test::ProcessResult train(const std::string& options = "") {
    return weft("train configs/quickstart_ngram.yaml --output run --set data.cache_dir=cache " +
                options);
  }
  Json evaluate(const std::string& model, const std::string& options = "") {
    const auto done = weft("evaluate " + model + " --data data/held_out.txt " + options);
    EXPECT_EQ(done.status, 0) << done.err;
    return Json::parse(done.out);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(NgramRun, TrainsEvaluatesAndResumes) {
  const auto done = train();
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("[model] n-grams by order 1: "), std::string::npos) << done.err;
  const auto rows = test::json_lines<Json>(test::contents(directory_ / "run/metrics.jsonl"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["step"], 1);
  const auto metrics = evaluate("run");
  EXPECT_NEAR(metrics["eval_loss"].get<double>(), rows[0]["eval/loss"].get<double>(), 1e-9);
  EXPECT_EQ(evaluate("run", "--threads 1 --batch-tokens 64"), metrics);
  const auto again = train();
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("nothing to do"), std::string::npos) << again.err;
  for (const auto& entry : fs::directory_iterator(directory_ / "run")) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

TEST_F(NgramRun, StartsAgainAfterItWasStoppedWhileCounting) {
  const auto killed = weft(
      "train configs/quickstart_ngram.yaml --output cut --set data.cache_dir=cache"
      " & pid=$!; sleep 0.2; kill -9 $pid; wait $pid; true");
  const auto resumed =
      weft("train configs/quickstart_ngram.yaml --output cut --set data.cache_dir=cache");
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  ASSERT_EQ(train().status, 0);
  EXPECT_EQ(test::contents(directory_ / "cut/last/model.safetensors"),
            test::contents(directory_ / "run/last/model.safetensors"));
}

TEST_F(NgramRun, IsTheSameAsAnArpaFile) {
  ASSERT_EQ(train().status, 0);
  const auto exported = weft("export run --output model.arpa --format arpa");
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(weft("export run --output model.arpa --format arpa").status, 2);  // exists
  const auto imported = weft("import model.arpa --output imported");
  ASSERT_EQ(imported.status, 0) << imported.err;
  const auto before = evaluate("run");
  const auto after = evaluate("imported", "--set data.document_boundary=line");
  EXPECT_NEAR(after["eval_loss"].get<double>(), before["eval_loss"].get<double>(), 1e-5);
  EXPECT_EQ(after["eval_accuracy"], before["eval_accuracy"]);
  const auto exported_again = weft("export imported --output again.arpa --format arpa");
  ASSERT_EQ(exported_again.status, 0) << exported_again.err;
  const auto lines = [&](const std::string& name) {
    const auto text = test::contents(directory_ / name);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines("again.arpa"), lines("model.arpa"));
  const auto copied = weft("export run --output copy --check");
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_EQ(evaluate("copy", "--set data.document_boundary=line"), before);
}

TEST_F(NgramRun, GeneratesAndScores) {
  ASSERT_EQ(train().status, 0);
  const auto sampled = weft("generate run --prompt 'The' --temperature 1 --seed 4");
  ASSERT_EQ(sampled.status, 0) << sampled.err;
  EXPECT_EQ(weft("generate run --prompt 'The' --temperature 1 --seed 4").out, sampled.out);
  const auto beams = weft("generate run --prompt 'The' --beams 3");
  EXPECT_EQ(beams.status, 0) << beams.err;
  test::write(directory_ / "choices.jsonl",
              R"({"context": "The kitchen", "choices": [" was", " xyzzy"], "label": 0})"
              "\n");
  const auto scored = weft("score run --input choices.jsonl");
  ASSERT_EQ(scored.status, 0) << scored.err;
  const auto first = test::json_lines<Json>(scored.out)[0];
  EXPECT_EQ(first["prediction"], 0);
  const auto inspected = weft("inspect run");
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("modified_kneser_ney"), std::string::npos);
}

TEST_F(NgramRun, RefusesKeysWithoutEffect) {
  const auto refused = train("--set train.duration='2 epochs' --set train.optimizer.lr=1e-3");
  EXPECT_EQ(refused.status, 2);
  for (const auto* key : {"train.duration", "train.optimizer.lr"}) {
    EXPECT_NE(refused.err.find(std::string(key) + ": has no effect with model.type: ngram"),
              std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(train("--set model.k=0.5").status, 2);
  EXPECT_EQ(train("--set model.prune=[1]").status, 2);
  EXPECT_EQ(train("--set model.prune=[0,2,1]").status, 2);
  EXPECT_EQ(train("--set model.smoothing=add_k --set model.prune=[0,1]").status, 2);
  EXPECT_EQ(train("--set objective.type=mlm").status, 2);
  EXPECT_EQ(train("--set objective.type=prefix_lm").status, 2);
  EXPECT_EQ(train("--dry-run").status, 2);
  EXPECT_FALSE(fs::exists(directory_ / "run/last"));
  ASSERT_EQ(train().status, 0);
  const auto further = weft(
      "train configs/quickstart_ngram.yaml --output more --set init_from=run --set "
      "tokenizer.file=run/last");
  EXPECT_EQ(further.status, 2);
  EXPECT_NE(further.err.find("cannot be trained further"), std::string::npos) << further.err;
}

TEST_F(NgramRun, RefusesArpaFilesThatAreWrong) {
  const std::string sound =
      "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.3\n-0.5\t</s>\n"
      "-0.4\ta\t-0.2\n\n\\2-grams:\n-0.1\t<s> a\n-0.2\ta </s>\n\n\\end\\\n";
  const auto import = [&](std::string text, const std::string& from, const std::string& to) {
    if (!from.empty()) {
      text.replace(text.find(from), from.size(), to);
    }
    test::write(directory_ / "x.arpa", text);
    fs::remove_all(directory_ / "x");
    return weft("import x.arpa --output x");
  };
  const auto good = import(sound, "", "");
  EXPECT_EQ(good.status, 0) << good.err;
  const std::vector<std::vector<std::string>> cases = {
      {"\\data\\", "data", "not an ARPA file"},
      {"ngram 2=2", "ngram 2=3", "x.arpa:15: "},
      {"ngram 2=2", "ngram 3=2", "x.arpa:3: "},
      {"ngram 1=4", "ngram 1=x", "x.arpa:2: "},
      {"\\2-grams:", "\\3-grams:", "must be \\2-grams:"},
      {"-0.1\t<s> a", "-0.1\t<s> b", "'b' is not one of the 1-grams"},
      {"-0.1\t<s> a", "-0.1\t<s>", "must be a log probability, 2 words"},
      {"-0.1\t<s> a", "0.1\t<s> a", "must not be positive"},
      {"-0.1\t<s> a", "oops\t<s> a", "must be a number"},
      {"-0.2\ta </s>", "-0.2\t<s> a", "a 2-gram is repeated"},
      {"-0.4\ta", "-0.4\t<s>", "the word is repeated"},
      {"-0.5\t</s>", "-0.5\tb", "has no </s>"},
      {"\\end\\", "", "must be \\end\\"}};
  for (const auto& each : cases) {
    const auto done = import(sound, each[0], each[1]);
    EXPECT_EQ(done.status, 2) << each[1] << done.err;
    EXPECT_NE(done.err.find(each[2]), std::string::npos) << each[1] << ": " << done.err;
    EXPECT_FALSE(fs::exists(directory_ / "x")) << each[1];
  }
}

class ShortlistRun : public NgramRun {
 protected:
  void SetUp() override {
    NgramRun::SetUp();
    ASSERT_EQ(train().status, 0);
    write_config("{type: feed_forward_lm, context: 2, dim: 8, hidden: 8, dropout: 0.1, OUTPUT}");
  }

  void write_config(const std::string& model, const std::string& objective = "causal") {
    test::write(
        directory_ / "shortlist.yaml",
        "model: " +
            test::filled(model, "OUTPUT", "output: {type: shortlist, ngram: run, shortlist: 50}") +
            "\n"
            "tokenizer: {file: run}\n"
            "data: {train: [{path: data/corpus/*.txt}], evaluate: [{path: "
            "data/held_out.txt}], document_boundary: line, length: 32, cache_dir: cache}\n"
            "objective: {type: " +
            objective +
            "}\n"
            "train: {duration: 6 steps, precision: fp32, batch_tokens: 512, evaluate_every: 6 "
            "steps, "
            "save_every: 2 steps, schedule: {type: constant}, optimizer: {lr: 0.01}}\n"
            "run: {directory: listed, seed: 1, keep: {last: 9}}\n");
  }
  test::ProcessResult train_listed(const std::string& options) {
    return weft("train shortlist.yaml " + options);
  }
};

TEST_F(ShortlistRun, NeedsTheNgramModelOnlyInTraining) {
  const auto done = train_listed("");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto rows = test::json_lines<Json>(test::contents(directory_ / "listed/metrics.jsonl"));
  const auto options = std::string("--set data.document_boundary=line --set data.length=32");
  fs::remove_all(directory_ / "run");
  const auto metrics = evaluate("listed", options);
  EXPECT_NEAR(metrics["eval_loss"].get<double>(), rows.back()["eval/loss"].get<double>(), 1e-6);
  const auto alone = evaluate("listed", options + " --threads 1 --batch-tokens 64");
  EXPECT_NEAR(alone["eval_loss"].get<double>(), metrics["eval_loss"].get<double>(), 1e-6);
  for (const std::string search : {"--greedy", "--temperature 1 --seed 4", "--beams 3"}) {
    const auto generated = weft("generate listed --prompt 'The' --max-new 8 --ids " + search);
    ASSERT_EQ(generated.status, 0) << generated.err;
    EXPECT_FALSE(test::json_lines<Json>(generated.out)[0]["ids"].empty());
  }
  test::write(directory_ / "choices.jsonl",
              R"({"context": "The kitchen", "choices": [" was", " xyzzy"], "label": 0})"
              "\n");
  const auto scored = weft("score listed --input choices.jsonl");
  ASSERT_EQ(scored.status, 0) << scored.err;
  const auto exported = weft("export listed --output copy --check");
  EXPECT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(evaluate("copy", options), metrics);
  const auto reported = weft("report listed --threads 1 --examples 2");
  EXPECT_EQ(reported.status, 0) << reported.err;
  test::write(directory_ / "tuned.yaml",
              "init_from: listed\n"
              "data: {train: [{path: data/corpus/*.txt}], document_boundary: line, length: 32, "
              "cache_dir: cache}\n"
              "objective: {type: causal}\n"
              "train: {duration: 2 steps, batch_tokens: 512, evaluate_every: never}\n"
              "run: {directory: tuned}\n");
  const auto fine_tuned = weft("train tuned.yaml");
  EXPECT_EQ(fine_tuned.status, 0) << fine_tuned.err;
}

TEST_F(ShortlistRun, ResumesExactly) {
  for (const std::string precision : {"fp32", "bf16"}) {
    const auto options = "--set train.precision=" + precision;
    ASSERT_EQ(train_listed(options + " --output whole").status, 0);
    ASSERT_EQ(train_listed(options + " --output half --set train.duration='4 steps'").status, 0);
    const auto resumed = train_listed(options + " --output half");
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(test::contents(directory_ / "half/checkpoint-6/model.safetensors"),
              test::contents(directory_ / "whole/checkpoint-6/model.safetensors"));
    const auto again = train_listed(
        options + " --output again --set train.micro_batch_tokens=64 --set train.threads=1");
    ASSERT_EQ(again.status, 0) << again.err;
    for (const auto* run : {"whole", "half", "again"}) {
      fs::remove_all(directory_ / run);
    }
  }
}

TEST_F(ShortlistRun, WorksWithRecurrentModelsOfOtherFamilies) {
  write_config(
      "{type: gpt2, layers: 1, dim: 8, attention: {heads: 2}, block: r, recurrent: {cell: lstm, "
      "width: 8}, position: {type: none}, OUTPUT}");
  const auto done = train_listed("--set train.duration='2 steps'");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto generated = weft("generate listed --prompt 'The' --beams 3 --max-new 8");
  EXPECT_EQ(generated.status, 0) << generated.err;
  const auto inspected = weft("inspect listed");
  EXPECT_EQ(inspected.status, 0) << inspected.err;
}

// With streams, the histories of the n-gram model continue like the state of the layers.
TEST_F(ShortlistRun, ContinuesStreamsAndResumesExactly) {
  write_config(
      "{type: gpt2, layers: 1, dim: 8, attention: {heads: 2}, block: r, recurrent: {cell: lstm, "
      "width: 8}, position: {type: none}, OUTPUT}");
  const std::string options =
      "--set data.pack=stream --set data.streams=4 --set data.shuffle=false --set "
      "train.batch_tokens=null --set train.batch_sequences=4 ";
  const auto whole = train_listed(options + "--output whole");
  ASSERT_EQ(whole.status, 0) << whole.err;
  ASSERT_EQ(train_listed(options + "--output half --set train.duration='4 steps'").status, 0);
  const auto resumed = train_listed(options + "--output half");
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  for (const std::string file : {"model.safetensors", "training/carried_state.safetensors"}) {
    const auto contents = test::contents(directory_ / ("whole/checkpoint-6/" + file));
    EXPECT_NE(contents, "") << file;
    EXPECT_EQ(test::contents(directory_ / ("half/checkpoint-6/" + file)), contents) << file;
  }
  const auto loss = [&](const std::string& length) {
    return evaluate("whole", "--set data.length=" + length)["eval_loss"].get<double>();
  };
  const auto expected = loss("64");
  EXPECT_NEAR(loss("5"), expected, 1e-5);
  EXPECT_NEAR(loss("31"), expected, 1e-5);
}

TEST_F(ShortlistRun, RefusesModelsThatDoNotReadLeftToRight) {
  write_config("{type: bert, layers: 1, dim: 8, attention: {heads: 2}, OUTPUT}", "mlm");
  const auto masked = train_listed("");
  EXPECT_EQ(masked.status, 2);
  EXPECT_NE(masked.err.find("shortlist is only possible with objective.type: causal"),
            std::string::npos)
      << masked.err;
  write_config("{type: feed_forward_lm, OUTPUT}");
  const auto other = train_listed("--set 'tokenizer={type: characters}'");
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("model.output.ngram: run: has"), std::string::npos) << other.err;
}

TEST_F(NgramRun, IdentifiesLanguages) {
  std::string rows = "language\ttext\n";
  for (int i = 0; i < 4; ++i) {
    rows +=
        "de\tdas ist ein kurzer Satz über das Wetter\nen\tthis is a short sentence about the "
        "weather\n";
  }
  test::write(directory_ / "rows.tsv", rows);
  const std::string command =
      "train configs/language_id.yaml --output languages --set data.train.0.path=rows.tsv --set "
      "data.evaluate.0.path=rows.tsv --set data.cache_dir=cache";
  const auto done = weft(command);
  ASSERT_EQ(done.status, 0) << done.err;
  test::write(directory_ / "texts.jsonl",
              "{\"text\": \"das Wetter\"}\n{\"text\": \"the weather\"}\n");
  const auto predicted = weft("predict languages --input texts.jsonl");
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const auto lines = test::json_lines<Json>(predicted.out);
  EXPECT_EQ(lines[0]["label"], "de");
  EXPECT_EQ(lines[1]["label"], "en");
  const auto refused = weft(command + " --set objective.label_smoothing=0.1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("label_smoothing: has no effect"), std::string::npos) << refused.err;
  EXPECT_EQ(weft(command + " --set objective.multi_label=true").status, 2);
  EXPECT_EQ(weft("export languages --output x.arpa --format arpa").status, 2);
  EXPECT_EQ(train("--set model.temperature=2").status, 2);
}

TEST_F(NgramRun, MaximumLikelihoodMayGiveProbabilityZero) {
  const auto done = train("--set model.smoothing=mle");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto metrics = evaluate("run");
  EXPECT_TRUE(metrics["eval_loss"].is_null() || metrics["eval_loss"] == "inf" ||
              !std::isfinite(metrics["eval_loss"].get<double>()));
}

}  // namespace
}  // namespace weft::cli
