#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tiny_decoder.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

class Generate : public ::testing::Test {
 protected:
  test::ProcessResult weft(std::vector<std::string> options, const std::string& input = "") {
    options.insert(options.begin(), {"generate", decoder_.path(), "--threads", "1"});
    return test::weft(options, input);
  }
  std::vector<OrderedJson> lines(const std::vector<std::string>& options,
                                 const std::string& input = "") {
    const auto done = weft(options, input);
    EXPECT_EQ(done.status, 0) << done.err;
    return test::json_lines<OrderedJson>(done.out);
  }
  std::string error(const std::vector<std::string>& options, const std::string& input = "") {
    const auto done = weft(options, input);
    EXPECT_EQ(done.status, 2) << done.out;
    EXPECT_EQ(done.out, "");
    return done.err;
  }

  test::TinyDecoder decoder_;
};

const std::string kLines =
    "{\"prompt\": \"The cat\"}\n\n{\"source\": \"a longer prompt than that\"}\n{\"text\": \"x\"}\n";

TEST_F(Generate, OneLineForEachInOrder) {
  const auto found = lines({}, kLines);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["prompt"], "The cat");
  EXPECT_EQ(found[2]["prompt"], "x");
  for (const auto& line : found) {
    EXPECT_TRUE(line["text"].is_string());
    EXPECT_LT(line["score"].get<double>(), 0);
    EXPECT_EQ(line.size(), 3U);
  }
  const auto alone = lines({"--batch-size", "1"}, kLines);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(alone[i]["text"], found[i]["text"]);
    EXPECT_NEAR(alone[i]["score"].get<double>(), found[i]["score"].get<double>(), 1e-5);
  }
  EXPECT_EQ(lines({"--prompt", "The cat"})[0], alone[0]);
  EXPECT_EQ(lines({"The cat"})[0], alone[0]);
}

TEST_F(Generate, ModelDirectoryProvidesDefaults) {
  EXPECT_EQ(lines({"--ids", "--prompt", "The"})[0]["ids"].size(), 10U);
  EXPECT_EQ(lines({"--ids", "--prompt", "The", "--max-new", "4"})[0]["ids"].size(), 4U);
  decoder_.set_generation(
      "{\"eos_token_id\": 0, \"max_length\": 12, \"num_beams\": 3, \"typical_p\": 0.5}");
  const auto done = weft({"--ids", "--prompt", "The"});
  const auto beams = test::json_lines<OrderedJson>(done.out);
  EXPECT_NE(done.err.find("ignored keys of the model's generation_config.json: typical_p"),
            std::string::npos);
  EXPECT_EQ(beams, lines({"--ids", "--prompt", "The", "--beams", "3"}));
  decoder_.set_generation("{\"eos_token_id\": \"end\"}");
  EXPECT_NE(error({"--prompt", "The"}).find("eos_token_id: expected an id or a list of ids"),
            std::string::npos);
}

TEST_F(Generate, ADraftModelLeavesTheTexts) {
  const std::vector<std::string> draft = {"--draft-model", decoder_.path()};
  for (const auto& options : {std::vector<std::string>{"--ids"}, {"--ids", "--sample"}}) {
    auto with_draft = options;
    with_draft.insert(with_draft.end(), draft.begin(), draft.end());
    const auto done = weft(with_draft, kLines);
    const auto found = test::json_lines<OrderedJson>(done.out);
    const auto expected = lines(options, kLines);
    ASSERT_EQ(found.size(), expected.size()) << done.err;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i]["ids"], expected[i]["ids"]);
    }
    EXPECT_NE(done.err.find("proposed tokens were accepted (100 %)"), std::string::npos)
        << done.err;
  }
  EXPECT_NE(error({"--prompt", "x", "--draft-tokens", "3"}).find("needs --draft-model"),
            std::string::npos);
  EXPECT_NE(error({"--prompt", "x", "--beams", "2", draft[0], draft[1]}).find("beam search"),
            std::string::npos);
  EXPECT_NE(error({"--prompt", "x", draft[0], "nowhere"}).find("nowhere"), std::string::npos);
}

TEST_F(Generate, TextsTruncatedAtTheModelLengthAreReported) {
  const auto done = weft({"--max-new", "200", "--ids"}, kLines);
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<OrderedJson>(done.out);
  for (const auto& line : found) {
    EXPECT_EQ(line["is_truncated"], true);
    EXPECT_LE(line["ids"].size(), 64U);
  }
  EXPECT_NE(done.err.find("3 texts were truncated at the model's maximum length of 64 tokens ("),
            std::string::npos)
      << done.err;
  EXPECT_NE(done.err.find("--max-new"), std::string::npos);
  EXPECT_EQ(done.err.find(" truncated "), done.err.rfind(" truncated ")) << done.err;
  const auto streamed = weft({"--max-new", "200", "--stream", "--prompt", "The cat"});
  EXPECT_NE(streamed.err.find("1 text was truncated"), std::string::npos) << streamed.err;
  const auto whole = weft({"--max-new", "9"}, kLines);
  EXPECT_EQ(whole.err.find("truncated"), std::string::npos) << whole.err;
  EXPECT_FALSE(test::json_lines<OrderedJson>(whole.out)[0].contains("is_truncated"));
}

TEST_F(Generate, SamplingRepeatsBySeed) {
  const std::vector<std::string> draw{"--temperature", "2", "--top-p", "0.95", "--seed"};
  auto one = draw;
  one.insert(one.end(), {"5"});
  auto two = draw;
  two.insert(two.end(), {"6"});
  EXPECT_EQ(lines(one, kLines), lines(one, kLines));
  EXPECT_NE(lines(one, kLines), lines(two, kLines));
  EXPECT_NE(lines(one, kLines), lines({"--greedy"}, kLines));
}

TEST_F(Generate, NBestIsAListBestFirst) {
  const auto found = lines({"--beams", "4", "--n-best", "3"}, kLines);
  ASSERT_EQ(found[0]["n_best"].size(), 3U);
  EXPECT_EQ(found[0]["n_best"][0]["text"], found[0]["text"]);
  EXPECT_GE(found[0]["n_best"][0]["score"].get<double>(),
            found[0]["n_best"][2]["score"].get<double>());
}

TEST_F(Generate, PlainLinesInPlainLinesOut) {
  const auto done = weft({"--plain"}, "The cat\n\nx\n");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(std::count(done.out.begin(), done.out.end(), '\n'), 3);
}

TEST_F(Generate, StreamsTheSameText) {
  const auto done = weft({"--stream", "--prompt", "The cat"});
  EXPECT_EQ(done.out, lines({"--prompt", "The cat"})[0]["text"].get<std::string>() + "\n");
}

TEST_F(Generate, IdsNeedNoTokenizer) {
  const auto with = lines({"--ids"}, "{\"ids\": [5, 6, 7]}\n")[0];
  std::filesystem::remove(decoder_.file("tokenizer.json"));
  const auto without = lines({"--ids"}, "{\"ids\": [5, 6, 7]}\n")[0];
  EXPECT_EQ(without["ids"], with["ids"]);
  EXPECT_FALSE(without.contains("text"));
}

TEST_F(Generate, BannedWordsAreNotGenerated) {
  const auto free = lines({"--ids", "--prompt", "The"})[0];
  const auto text = free["text"].get<std::string>();
  ASSERT_FALSE(text.empty());
  const auto first = lines({"--prompt", "The", "--max-new", "1"})[0]["text"].get<std::string>();
  const auto banned = lines(
      {"--ids", "--prompt", "The", "--bad-word", first.substr(first.find_first_not_of(' '))})[0];
  EXPECT_NE(banned["ids"][0], free["ids"][0]);
}

TEST_F(Generate, RefusesWhatCannotBe) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--temperature", "0"}, "--temperature: must be above 0; for greedy decoding use --greedy"},
      {{"--temperature", "-1"}, "--temperature: '-1' is not a number from 1e-06 to 1e+06"},
      {{"--top-p", "1.5"}, "--top-p: '1.5' is not a number from 1e-06 to 1"},
      {{"--greedy", "--top-k", "5"}, "--greedy does not sample, but --top-k does"},
      {{"--beams", "4", "--sample"}, "--beams 4 and --sample are mutually exclusive"},
      {{"--seed", "3"}, "--seed only affects sampling: also give --sample or --temperature"},
      {{"--n-best", "3"}, "--n-best 3 needs --beams 3 or more, or sampling"},
      {{"--diversity-penalty", "1"}, "--diversity-penalty needs --beams of at least 2"},
      {{"--beams", "4", "--beam-groups", "3"},
       "--beam-groups 3 must divide 4 beams without remainder"},
      {{"--beams", "4", "--early-stopping", "soon"}, "'soon' is not one of yes, no, never"},
      {{"--stop", ""}, "--stop: an empty text would stop every text immediately"},
      {{"--max-new", "3", "--min-new", "4"}, "--min-new 4 is more than --max-new 3"},
      {{"--forced-bos-token", "[nothing]"},
       "--forced-bos-token: '[nothing]' is not a token of the model"},
      {{"--stream", "--n-best", "2"}, "omit --n-best"},
      {{"--input", "x", "--plain"}, "--input and texts on the command line are mutually exclusive"},
      {{"--precision", "int8"}, "--precision: int8 is an option of its own: use --int8"},
      {{"--temprature", "1"}, "unknown option '--temprature', did you mean '--temperature'?"},
      {{"--max-tokens", "9"}, "unknown option '--max-tokens', did you mean '--max-new'?"},
      {{"--beam_size", "4"}, "unknown option '--beam_size', did you mean '--beams'?"}};
  for (auto [options, message] : cases) {
    options.insert(options.end(), {"--prompt", "The"});
    const auto found = error(options);
    EXPECT_NE(found.find(message), std::string::npos) << found;
    EXPECT_EQ(found.rfind("error: ", 0), 0U);
  }
  EXPECT_NE(error({}, "{\"prompt\": 3}\n")
                .find("standard input:1: not a JSON object with a string \"prompt\""),
            std::string::npos);
  EXPECT_NE(error({}, "{\"ids\": [1, \"a\"]}\n").find("\"ids\" is not a list of ids"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::cli
