#include <algorithm>

#include <gtest/gtest.h>

#include "cli/tiny_decoder.h"
#include "support/program.h"

namespace weft::cli {
namespace {

/// In the directory that the paths of the config are relative to.
test::ProcessResult inspect(const std::string& options) {
  return test::run({"/bin/sh", "-c",
                    "cd '" WEFT_SOURCE_DIR "' && exec '" WEFT_BINARY
                    "' inspect configs/quickstart_pretrain.yaml " +
                        options});
}

TEST(Inspect, TotalsComeFirstAndParametersOnRequest) {
  const auto done = inspect("");
  ASSERT_EQ(done.status, 0) << done.err;
  // Word 2048 x 128, position 128 x 128, segment 2 x 128 and the norm 2 x 128: 279,040.
  EXPECT_NE(done.out.find("\nParameters\n"
                          "  all                       694,400, 2.6 MiB in fp32\n"
                          "  trainable                 694,400\n"
                          "  embeddings                279,040 (40.18 %)\n"
                          "  layers                    396,544 (57.11 %)\n"),
            std::string::npos)
      << done.out;
  EXPECT_EQ(done.out.find("word_embeddings"), std::string::npos) << done.out;

  const auto listed = inspect("--parameters");
  ASSERT_EQ(listed.status, 0) << listed.err;
  const auto parameter = listed.out.find("bert.embeddings.word_embeddings.weight ");
  ASSERT_NE(parameter, std::string::npos) << listed.out;
  EXPECT_LT(listed.out.find("694,400"), parameter);
}

TEST(Inspect, ListsNearestWords) {
  const test::TinyDecoder decoder;
  const auto done = test::weft({"inspect", decoder.path(), "--nearest", "e"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto begin = done.out.find("\nNearest to ");
  ASSERT_NE(begin, std::string::npos) << done.out;
  EXPECT_NE(done.out.find("by cosine similarity\n"), std::string::npos);
  EXPECT_EQ(
      std::count(done.out.begin() + static_cast<std::ptrdiff_t>(begin) + 1, done.out.end(), '\n'),
      6);
  const auto refused = test::weft({"inspect", decoder.path(), "--nearest", "antidisestablish"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("is several tokens: "), std::string::npos) << refused.err;
  EXPECT_EQ(inspect("--nearest e").status, 2);
}

TEST(Inspect, FrozenParametersAreNotTrainable) {
  const auto done = inspect("--set train.freeze=[embeddings]");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("trainable                 415,360 of 694,400"), std::string::npos)
      << done.out;
}

}  // namespace
}  // namespace weft::cli
