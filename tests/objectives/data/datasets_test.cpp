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

TEST(Datasets, TrainingDataWithOtherClassesReplaceThoseOfTheModel) {
  Files files;
  files.labels = {"yes", "never"};
  const auto data = files.read(make_classify(), "rows.tsv");
  EXPECT_EQ(data.labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data.evaluate->example(0, 0).label, 1);
  files.labels = {"yes", "no", "never"};
  EXPECT_EQ(files.read(make_classify(), "rows.tsv").labels, files.labels);
}

TEST(Datasets, ThePositiveClassIsTheConfiguredOneOrTheRarer) {
  const Files files;
  const auto positive = [&](const std::string& label, const std::string& name = "rows.tsv") {
    return files.read(make_classify({.positive_label = label}), name).positive_label;
  };
  EXPECT_EQ(positive(""), "no");
  EXPECT_EQ(positive("yes"), "yes");
  files.folder.write("even.tsv", "label\ttext\nyes\tgood film\nno\tbad film film\n");
  EXPECT_EQ(positive("", "even.tsv"), "yes");
  EXPECT_EQ(
      test::message_of<config::Error>([&] { positive("yess"); }),
      "objective.positive_label: 'yess' is not one of the classes no, yes, did you mean 'yes'?");
  files.folder.write("three.tsv", "label\ttext\na\tgood\nb\tbad\nc\tfilm\n");
  EXPECT_EQ(positive("", "three.tsv"), "");
  EXPECT_EQ(
      test::message_of<config::Error>([&] { positive("a", "three.tsv"); }),
      "objective.positive_label: 'a', but there are 3 classes; allowed with two classes only");
}

TEST(Datasets, AThresholdIsForThePositiveClassOfTheModel) {
  const auto objective = make_classify({.positive_label = "no"});
  objective->set_decision_threshold({.threshold = 0.3, .positive_label = "no"});
  EXPECT_EQ(objective->decision_threshold().positive_label, "no");
  EXPECT_EQ(test::message_of<config::Error>([&] {
              objective->set_decision_threshold({.threshold = 0.3, .positive_label = "yes"});
            }),
            "objective.positive_label: 'no', but the threshold of the model is for 'yes'; omit the "
            "key");
  const auto plain = make_classify();
  plain->set_decision_threshold({.positive_label = "no"});
  EXPECT_EQ(plain->decision_threshold().positive_label, "no");
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
