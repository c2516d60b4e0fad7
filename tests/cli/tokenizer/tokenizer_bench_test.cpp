#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {
namespace {

const std::string kBenchModel =
    std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers/bert_uncased";

TEST(TokenizerBench, CountsTheTokensThatEncodeGives) {
  const test::TemporaryDirectory work;
  const std::string lines = "The lazy dog.\n\nA quick, brown fox!\n";
  test::write(work / "a.txt", lines);
  test::write(work / "b.txt", "Two more words\n");
  const auto done = test::weft(
      {"tokenizer", "bench", "--model", kBenchModel, "--input", work / "*.txt", "--seconds", "0"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = nlohmann::json::parse(done.out);
  EXPECT_EQ(found["lines"], 4);
  EXPECT_EQ(found["bytes"], static_cast<int64_t>(lines.size()) + 15);
  EXPECT_GT(found["tokens_per_s"], 0);
  const auto encoded =
      test::weft({"tokenizer", "encode", "--model", kBenchModel, "--no-special-tokens"},
                 lines + "Two more words\n");
  int64_t tokens = 0;
  for (std::size_t begin = 0; begin < encoded.out.size();) {
    const auto end = encoded.out.find('\n', begin);
    tokens += static_cast<int64_t>(
        nlohmann::json::parse(encoded.out.substr(begin, end - begin))["ids"].size());
    begin = end + 1;
  }
  EXPECT_EQ(found["tokens"], tokens);
}

TEST(TokenizerBench, NamesWhatIsMissing) {
  EXPECT_EQ(test::weft({"tokenizer", "bench", "--model", kBenchModel}).err,
            "error: weft tokenizer bench: --input FILE is required\n");
  const auto done =
      test::weft({"tokenizer", "bench", "--model", kBenchModel, "--input", "/nowhere/*"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("'/nowhere/*' matches no file"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace weft::cli
