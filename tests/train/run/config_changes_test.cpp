#include <gtest/gtest.h>

#include "train/run/train.h"

namespace weft::train {
namespace {

TEST(ConfigChanges, NamesEachKeyWithBothValues) {
  const auto changes = config_changes(
      "train:\n  batch_tokens: 64\n  clip_norm: 1\ndata:\n  train: [{path: a.txt}]\n",
      "train:\n  batch_tokens: 128\n  clip_norm: 1\ndata:\n  train: [{path: b.txt}]\nrun: {seed: "
      "2}\n");
  ASSERT_EQ(changes.size(), 3);
  EXPECT_EQ(changes[0].key, "data.train[0].path");
  EXPECT_EQ(changes[1].key, "run.seed");
  EXPECT_EQ(changes[1].before, "none");
  EXPECT_EQ(changes[2].key, "train.batch_tokens");
  EXPECT_EQ(changes[2].before, "64");
  EXPECT_EQ(changes[2].after, "128");
}

TEST(ConfigChanges, LetsOnlyTheCourseOfTrainingChange) {
  for (const auto* key :
       {"train.duration", "train.batch_tokens", "run.directory", "data.num_workers",
        "data.evaluate[0].path", "train.optimizer.lr", "train.optimizer.groups[0].lr"}) {
    EXPECT_TRUE(may_change(key)) << key;
  }
  for (const auto* key :
       {"model.dim", "data.train[0].path", "data.shuffle", "objective.type", "run.seed",
        "tokenizer.vocab_size", "train.optimizer.type", "train.optimizer.groups[1].type",
        "train.optimizer.groups[0].parameters", "init_from"}) {
    EXPECT_FALSE(may_change(key)) << key;
  }
}

}  // namespace
}  // namespace weft::train
