#include "cli/score/score.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tiny_decoder.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

class Score : public ::testing::Test {
 protected:
  std::vector<OrderedJson> lines(std::vector<std::string> options, const std::string& input = "") {
    options.insert(options.begin(), {"score", decoder_.path(), "--threads", "1"});
    const auto done = test::weft(options, input);
    EXPECT_EQ(done.status, 0) << done.err;
    return test::json_lines<OrderedJson>(done.out);
  }
  static std::string error(std::vector<std::string> options, const std::string& input = "") {
    options.insert(options.begin(), "score");
    const auto done = test::weft(options, input);
    EXPECT_EQ(done.status, 2);
    return done.err;
  }

  test::TinyDecoder decoder_;
};

const std::string kQuestions =
    "{\"context\": \"The cat\", \"choices\": [\"sat on it\", \"ran\"], \"label\": 0}\n"
    "{\"context\": \"A dog \", \"choices\": [\"ran\", \"sat there\", \"slept\"], \"label\": 2}\n";

TEST_F(Score, ChoicesGetLogProbabilitiesAndMetrics) {
  const auto found = lines({}, kQuestions);
  ASSERT_EQ(found.size(), 3U);
  ASSERT_EQ(found[1]["log_probabilities"].size(), 3U);
  const auto& logs = found[0]["log_probabilities"];
  EXPECT_EQ(found[0]["prediction"], logs[0] >= logs[1] ? 0 : 1);
  EXPECT_EQ(found[2]["items"], 2);
  for (const std::string name : {"accuracy", "acc_norm", "acc_bytes"}) {
    EXPECT_TRUE(found[2].contains(name) && found[2].contains(name + "_stderr")) << name;
  }
  EXPECT_FALSE(found[2].contains("acc_mutual_info"));
  const auto narrow = lines({"--batch-tokens", "1", "--unconditional"}, kQuestions);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(narrow[0]["log_probabilities"][i].get<double>(), logs[i].get<double>(), 1e-4);
  }
  EXPECT_TRUE(narrow[2].contains("acc_mutual_info"));
}

TEST_F(Score, SpaceBetweenIsTheContinuations) {
  const auto line = [&](const std::string& context, const std::string& choice) {
    const OrderedJson question{{"context", context}, {"continuation", choice}};
    return lines({}, question.dump() + "\n")[0]["log_probability"].get<double>();
  };
  EXPECT_NEAR(line("The cat", " ran"), line("The cat ", "ran"), 1e-6);
  EXPECT_NEAR(line("The cat", " ran"), line("The cat", "ran"), 1e-6);
}

TEST_F(Score, TablesAndPlainLinesAreAsJsonLines) {
  const auto wanted = lines({}, kQuestions);
  test::write(decoder_.file("rows.csv"),
              "label,context,choices\n0,The cat,\"[\"\"sat on it\"\", \"\"ran\"\"]\"\n"
              "2,\"A dog \",\"[\"\"ran\"\", \"\"sat there\"\", \"\"slept\"\"]\"\n");
  EXPECT_EQ(lines({"--input", decoder_.file("rows.csv")}), wanted);
  test::write(decoder_.file("rows.tsv"), "context\tcontinuation\nThe cat\tran\n");
  EXPECT_EQ(lines({"--input", decoder_.file("rows.tsv")}),
            lines({}, "{\"context\": \"The cat\", \"continuation\": \"ran\"}\n"));
  const auto text = lines({}, "{\"text\": \"The cat sat.\"}\n");
  test::write(decoder_.file("rows.tsv"), "id\tbody\n1\tThe cat sat.\n");
  EXPECT_EQ(lines({"--input", decoder_.file("rows.tsv"), "--text-column", "body"}), text);
  EXPECT_EQ(lines({"--plain"}, "The cat sat.\n"), text);
  test::write(decoder_.file("rows.csv"), "label,context,choices\n0,The cat,sat or ran\n");
  EXPECT_NE(error({decoder_.path(), "--input", decoder_.file("rows.csv")})
                .find("rows.csv:2: no list of \"choices\""),
            std::string::npos);
  EXPECT_NE(error({decoder_.path(), "--text", "a.txt", "--plain"})
                .find("--plain works only with --input"),
            std::string::npos);
}

TEST_F(Score, LongTextsAreScoredInWindows) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += i % 3 == 0 ? "The cat ran. " : "A dog sat on it. ";
  }
  test::write(decoder_.file("long.txt"), text);
  const auto score = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"--text", decoder_.file("long.txt")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return lines(arguments)[0]["log_probability"].get<double>();
  };
  const auto whole = score({});
  EXPECT_NEAR(score({"--max-length", "64", "--stride", "64"}), whole, 1e-4);
  EXPECT_GT(std::abs(score({"--stride", "8"}) - whole), 1e-3);
  EXPECT_GT(std::abs(score({"--max-length", "16"}) - whole), 1e-3);
  const auto message = [&](const std::string& option, const std::string& value) {
    return error({decoder_.path(), "--text", decoder_.file("long.txt"), option, value});
  };
  EXPECT_NE(message("--max-length", "65").find("must be at most 64"), std::string::npos);
  EXPECT_NE(message("--stride", "65").find("must be at most 64"), std::string::npos);
  EXPECT_NE(message("--stride", "0").find("--stride: '0' is not a number"), std::string::npos);
}

TEST_F(Score, TextsHavePerplexities) {
  test::write(decoder_.file("text.txt"), "The cat sat on it.\nIt ran.\n");
  const auto found = lines({"--text", decoder_.file("text.txt")});
  EXPECT_EQ(found[0]["bytes"], 27);
  EXPECT_EQ(found[0]["words"], 8);
  const double logs = found[0]["log_probability"].get<double>();
  EXPECT_NEAR(found[1]["bits_per_byte"].get<double>(), -logs / 27 / std::log(2), 1e-9);
  EXPECT_NEAR(
      lines({"--text", decoder_.file("text.txt"), "--word-count", "7"})[1]["word_perplexity"]
          .get<double>(),
      std::exp(-logs / 7), 1e-6 * std::exp(-logs / 7));
  EXPECT_NEAR(lines({}, "{\"text\": \"The cat sat on it.\\nIt ran.\\n\"}\n")[0]["log_probability"]
                  .get<double>(),
              logs, 1e-6);
}

TEST_F(Score, TasksReadTables) {
  test::write(decoder_.file("task.yaml"),
              "{data: [none.tsv], context: '{a}', choices: ['{b}', '{c}'], label: label}");
  test::write(decoder_.file("rows.tsv"), "label\ta\tb\tc\n1\tThe cat\tsat on it\tran\n");
  const std::vector<std::string> asked{"--task", decoder_.file("task.yaml"), "--data",
                                       decoder_.file("rows.tsv")};
  const auto found = lines(asked);
  EXPECT_EQ(found[0]["log_probabilities"], lines({}, kQuestions)[0]["log_probabilities"]);
  EXPECT_EQ(found[1]["items"], 1);
  test::write(decoder_.file("rows.tsv"), "label\ta\tb\tc\n7\tThe cat\tsat on it\tran\n");
  EXPECT_NE(error({decoder_.path(), "--task", decoder_.file("task.yaml"), "--data",
                   decoder_.file("rows.tsv")})
                .find("rows.tsv:2: label '7' is not a number from 0 to 1"),
            std::string::npos);
}

TEST_F(Score, TasksHaveTheirOwnMetrics) {
  test::write(decoder_.file("a.yaml"), "{data: [" + decoder_.file("rows.tsv") +
                                           "], context: '{a}', choices: ['{b}', '{c}'], label: "
                                           "label}");
  test::write(decoder_.file("b.yaml"),
              "{data: [" + decoder_.file("rows.tsv") + "], context: '{a}', continuation: '{b}'}");
  test::write(decoder_.file("rows.tsv"),
              "label\ta\tb\tc\n1\tThe cat\tsat on it\tran\n0\tA dog\tran\tsat\n");
  const auto both = lines({"--task", decoder_.file("[ab].yaml")});
  ASSERT_EQ(both.size(), 6U);
  for (const auto& [at, name] : {std::pair{std::size_t{2}, "a"}, {std::size_t{5}, "b"}}) {
    EXPECT_EQ(both[at]["task"], name);
    EXPECT_EQ(both[at], lines({"--task", decoder_.file(std::string(name) + ".yaml")})[2]);
  }
  const std::vector<std::string> table{
      "score",  decoder_.path(),         "--task",  decoder_.file("a.yaml"),
      "--task", decoder_.file("b.yaml"), "--table", "--threads",
      "1"};
  const auto done = test::weft(table);
  ASSERT_EQ(done.status, 0) << done.err;
  std::istringstream rows(done.out);
  std::vector<std::string> words;
  std::string row;
  std::getline(rows, row);
  for (std::istringstream head(row); head >> row;) {
    words.push_back(row);
  }
  EXPECT_EQ(words, (std::vector<std::string>{"task", "items", "accuracy", "acc_norm", "acc_bytes",
                                             "perplexity"}));
  std::getline(rows, row);
  EXPECT_TRUE(row.starts_with("a         2  ")) << row;
  EXPECT_TRUE(row.ends_with("  -")) << row;
  test::write(decoder_.file("lost.yaml"), "{data: [lost.tsv], text: '{a}'}");
  const auto late = test::weft({"score", decoder_.path(), "--task", decoder_.file("a.yaml"),
                                "--task", decoder_.file("lost.yaml")});
  EXPECT_EQ(late.status, 2);
  EXPECT_EQ(late.out, "");  // found before the first question
}

TEST(ScoreTable, HasARowForEachTask) {
  EXPECT_EQ(
      score_table({{"copa", {{"items", 500}, {"accuracy", 0.552}, {"accuracy_stderr", 0.0222}}},
                   {"text", {{"items", 1}, {"perplexity", 1.25e6}, {"perplexity_stderr", 0}}}}),
      "task  items          accuracy           perplexity\n"
      "copa    500  0.5520 +- 0.0222                    -\n"
      "text      1                 -  1.250e+06 +- 0.0000\n");
}

TEST_F(Score, ScoresWhatWasGenerated) {
  const auto made = test::weft({"generate", decoder_.path(), "--prompt", "The cat", "--beams", "3",
                                "--n-best", "3", "--threads", "1"});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto found = lines({}, made.out);
  EXPECT_EQ(found[0]["log_probabilities"].size(), 3U);
}

TEST_F(Score, ComparesFiles) {
  test::write(decoder_.file("found"), "A man in a blue shirt.\nthe dog\n");
  test::write(decoder_.file("right"), "A man in a red shirt.\nthe dog\n");
  const auto done =
      test::weft({"score", "--hypotheses", decoder_.file("found"), "--references",
                  decoder_.file("right"), "--metric", "bleu,chrf,chrf++,rouge", "--lines"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<OrderedJson>(done.out);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[1]["bleu"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(found[1]["rouge2"].get<double>(), 1, 1e-12);
  // 8 of 9 words, 5 of 7 pairs, 2 of 5, 1 of 4: punctuation marks are words too.
  EXPECT_EQ(found[2]["bleu_line"],
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 50.20 "
            "88.9/71.4/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 9 ref_len = 9)");
  EXPECT_EQ(found[2]["lines"], 2);
  EXPECT_TRUE(found[2].contains("chrf++_line"));
}

TEST_F(Score, RefusesWhatCannotBe) {
  test::write(decoder_.file("one"), "a\n");
  test::write(decoder_.file("two"), "a\nb\n");
  const auto one = decoder_.file("one");
  const auto two = decoder_.file("two");
  const auto tasks = decoder_.file("task[12].yaml");
  for (const std::string name : {"task1.yaml", "task2.yaml", "lost.yaml"}) {
    test::write(decoder_.file(name), "{data: [lost.tsv], text: '{a}'}");
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{}, "MODEL is required, or --hypotheses FILE --references FILE"},
      {{"--hypotheses", one}, "--hypotheses needs --references FILE"},
      {{"--hypotheses", one, "--references", two}, "two:2: has no corresponding line"},
      {{"--hypotheses", two, "--references", one}, "the number of lines must be equal"},
      {{"--hypotheses", one, "--references", one, "--metric", "blue"}, "did you mean 'bleu'?"},
      {{"--hypotheses", one, "--references", one, "--tokenize", "ko-mecab"}, "needs its own MeCab"},
      {{"--hypotheses", one, "--references", one, "--tokenize", "14a"},
       "'14a' is not one of 13a, intl, char, zh, ja-mecab, none"},
      {{decoder_.path(), "--metric", "bleu"}, "--metric needs --hypotheses FILE"},
      {{decoder_.path(), "--hypotheses", one, "--references", one}, "compared without a model"},
      {{decoder_.path(), "--task", one, "--text", one}, "--task and --text are mutually exclusive"},
      {{decoder_.path(), "--data", one}, "--data replaces the data of a --task FILE"},
      {{"--hypotheses", one, "--references", one, "--table"}, "--table needs a model"},
      {{decoder_.path(), "--table"}, "--table works only with --task FILE"},
      {{decoder_.path(), "--task", one + "?"}, "one?' matches no file"},
      {{decoder_.path(), "--task", tasks, "--data", one},
       "--data replaces the data of one task, but --task names 2"},
      {{decoder_.path(), "--task", decoder_.file("lost.yaml")}, "lost.tsv"}};
  for (const auto& [options, message] : cases) {
    const auto found = error(options);
    EXPECT_NE(found.find(message), std::string::npos) << found;
  }
  for (const std::string line :
       {"{\"context\": \"a\"}", "{\"choices\": [\"a\"]}", "{\"context\": \"a\", \"choices\": [1]}",
        "{\"context\": \"a\", \"choices\": [\"b\"], \"label\": 1}"}) {
    EXPECT_EQ(error({decoder_.path()}, line + "\n").rfind("error: standard input:1: ", 0), 0U)
        << line;
  }
}

}  // namespace
}  // namespace weft::cli
