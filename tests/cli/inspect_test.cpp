#include <gtest/gtest.h>

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

TEST(Inspect, FrozenParametersAreNotTrainable) {
  const auto done = inspect("--set train.freeze=[embeddings]");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("trainable                 415,360 of 694,400"), std::string::npos)
      << done.out;
}

}  // namespace
}  // namespace weft::cli
