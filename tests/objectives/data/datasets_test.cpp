#include <gtest/gtest.h>

#include "models/config/presets.h"
#include "objectives/batches.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::objectives {
namespace {

std::shared_ptr<const data::Tokenizer> tokenizer() {
  return std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"good", "bad", "film"});
}

/// Labelled rows and running text in a temporary directory.
struct Files {
  Files() {
    folder.write("rows.tsv", "label\ttext\nyes\tgood film\nno\tbad film film\nyes\tgood\n");
    folder.write("values.tsv", "label\ttext\n0.5\tgood film\n-1\tbad\n");
    folder.write("text.txt", "good film\nbad film film\n\ngood good good bad\nbad film\n");
  }

  Datasets read(const std::shared_ptr<const Objective>& objective,
                const std::string& name,
                models::ModelOptions model = test::tiny_model(models::Head::kSequence),
                std::optional<int64_t> length = {}) const {
    data::DataItem item;
    item.path = folder.path(name);
    item.files = {item.path};
    data::DataOptions options;
    options.train = {item};
    options.length = length;
    options.cache = folder.path("cache");
    if (!objective->traits(model).reads_raw_text) {
      options.evaluate = {item};
    }
    model.labels = labels;
    return objective->make_datasets({.data = options, .model = model, .tokenizer = tokenizer()});
  }

  test::Folder folder;
  std::vector<std::string> labels;
};

TEST(Datasets, ClassesAreFoundInTheTrainingDataAndSorted) {
  const auto data = Files().read(make_classify(), "rows.tsv");
  EXPECT_EQ(data.labels, (std::vector<std::string>{"no", "yes"}));
  ASSERT_EQ(data.train->size(0), 3);
  EXPECT_EQ(data.train->example(0, 1).label, 0);
  EXPECT_EQ(data.evaluate->example(0, 2).label, 1);
}

TEST(Datasets, ClassesOfTheModelKeepTheirOrder) {
  Files files;
  files.labels = {"yes", "no"};
  const auto data = files.read(make_classify(), "rows.tsv");
  EXPECT_EQ(data.labels, files.labels);
  EXPECT_EQ(data.train->example(0, 0).label, 0);
}

TEST(Datasets, RegressionReadsNumbers) {
  const auto data = Files().read(make_regress(), "values.tsv");
  EXPECT_EQ(data.train->example(0, 1).values, std::vector<double>{-1});
  EXPECT_TRUE(data.labels.empty());
}

TEST(Datasets, RowsOfTextsAndTagsCanBeSplitRunningTextCannot) {
  const Files files;
  const auto model = test::tiny_model(models::Head::kSequence);
  const auto labels = [&](const Objective& objective, const std::string& name) {
    EXPECT_TRUE(objective.traits(model).reads_rows);
    data::DataItem item;
    item.path = files.folder.path(name);
    item.files = {item.path};
    std::vector<std::string> found;
    for (const auto& row : objective.split_rows(item, {}, model).rows) {
      found.push_back(row.label);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(labels(*make_classify(), "rows.tsv"), (Names{"yes", "no", "yes"}));
  EXPECT_EQ(labels(*make_regress(), "values.tsv"), (Names{"", ""}));
  files.folder.write("tags.conll", "good A\nfilm B\n\nbad A\n");
  EXPECT_EQ(labels(*make_tag(), "tags.conll"), (Names{"", ""}));
  EXPECT_FALSE(make_masked_lm()->traits(model).reads_rows);
}

TEST(Datasets, RunningTextHasTargetsAndNoEvaluationUnlessNamed) {
  const auto data = Files().read(make_masked_lm(), "text.txt");
  EXPECT_GT(data.train->size(0), 0);
  EXPECT_FALSE(data.train->example(0, 0).targets.empty());
  EXPECT_EQ(data.evaluate, nullptr);
}

TEST(Datasets, LabelsOfPairsSayWhatTheyMean) {
  const auto data = Files().read(make_masked_lm({.pair = data::PairTask::kNextSentence}),
                                 "text.txt", test::tiny_model(models::Head::kPretraining));
  EXPECT_EQ(data.label_meanings,
            (std::vector<std::string>{"0: the second text is the next sentence",
                                      "1: the second text is from another document"}));
}

TEST(Datasets, OnlyFamiliesThatTellSegmentsApartGetTypes) {
  auto model = test::tiny_model(models::Head::kSequence);
  EXPECT_FALSE(
      Files().read(make_classify(), "rows.tsv", model).train->example(0, 0).token_type_ids.empty());
  model.type_vocab_size = 1;
  EXPECT_TRUE(
      Files().read(make_classify(), "rows.tsv", model).train->example(0, 0).token_type_ids.empty());
}

TEST(Datasets, LengthsBeyondTheModelAndMismatchesAreRefused) {
  const auto model = test::tiny_model(models::Head::kSequence);
  EXPECT_EQ(test::message_of<config::Error>(
                [&] { Files().read(make_classify(), "rows.tsv", model, 13); }),
            "data.length: 13 is more than the maximum of 12 positions of the model");
  EXPECT_EQ(test::message_of<config::Error>([&] {
              Files().read(make_masked_lm({.pair = data::PairTask::kNextSentence}), "text.txt",
                           models::family_defaults(models::family_named("roberta")));
            }),
            "objective.next_sentence: true, but roberta has no pretraining head for sentence "
            "pairs, allowed is false");
}

}  // namespace
}  // namespace weft::objectives
