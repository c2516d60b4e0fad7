#include "data/row_selection.h"

#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/datasets/labelled_dataset.h"
#include "data/datasets/tagged_dataset.h"
#include "data/error.h"
#include "data/images/image_dataset.h"
#include "data/rows/labelled_rows.h"
#include "data/rows/tagged_rows.h"
#include "formats/error.h"
#include "support/config.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

class RowSelectionTest : public ::testing::Test {
 protected:
  DataItem item(const std::string& name, const std::string& content) const {
    return test::data_item(folder_, name, content);
  }

  RowSelection select(const DataOptions& options,
                      const std::optional<SplitRecord>& recorded = {}) const {
    return select_rows(
        options, 1, [&](const DataItem& one) { return labelled_split_rows(one, format_); },
        recorded);
  }

  std::shared_ptr<const LabelledDataset> dataset(const std::vector<DataItem>& items) const {
    LabelledSettings settings;
    settings.label_format = format_;
    return make_labelled_dataset(items, settings, tokenizer_);
  }

  static std::multiset<std::string> texts(const LabelledDataset& dataset) {
    std::multiset<std::string> found;
    for (int64_t i = 0; i < dataset.size(0); ++i) {
      found.insert(dataset.texts(0, i)[0]);
    }
    return found;
  }

  test::Folder folder_;
  LabelFormat format_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"a", "b", "c", "d"});
};

using RowNumbers = std::vector<int64_t>;

constexpr auto kSixRows = "label\ttext\nno\ta\nno\tb\nyes\tc\nyes\td\nno\ta a\nyes\tb b\n";

TEST_F(RowSelectionTest, FoldsAreComplementary) {
  DataOptions options;
  options.train = {item("x.tsv", kSixRows)};
  options.train[0].weight = 2;
  options.folds = 3;
  std::multiset<std::string> held;
  for (options.fold = 1; options.fold <= 3; ++options.fold) {
    const auto selected = select(options).data;
    EXPECT_FALSE(selected.folds.has_value());
    const auto rest = dataset(selected.train);
    const auto part = dataset(selected.evaluate);
    EXPECT_EQ(rest->size(0), 8);
    EXPECT_EQ(part->size(0), 2);  // each row once
    EXPECT_EQ(part->class_counts(), (RowNumbers{1, 1}));
    const auto here = texts(*part);
    for (const auto& text : texts(*rest)) {
      EXPECT_FALSE(here.contains(text));
    }
    held.insert(here.begin(), here.end());
    EXPECT_NE(rest->fingerprint(), part->fingerprint());
  }
  EXPECT_EQ(held, (std::multiset<std::string>{"a", "a a", "b", "b b", "c", "d"}));
  options.folds = 7;
  EXPECT_EQ(test::message_of<Error>([&] { select(options); }),
            options.train[0].path + ": 6 rows, not enough for 7 folds");
}

TEST_F(RowSelectionTest, EachRowKeepsItsTarget) {
  format_.is_regression = true;
  DataOptions options;
  options.train = {item("x.tsv", "label\ttext\n1\ta\n2\tb\n3\tc\n4\td\n5\ta a\n")};
  options.folds = 2;
  const std::map<std::string, double> wanted = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"a a", 5}};
  const auto train = dataset(select(options).data.train);
  for (int64_t i = 0; i < train->size(0); ++i) {
    EXPECT_EQ(train->example(0, i).values[0], wanted.at(train->texts(0, i)[0]));
  }
}

TEST_F(RowSelectionTest, TokenizerSeesOnlyTrainingRows) {
  format_.unlabelled = Unlabelled::kDrop;
  DataOptions options;
  options.train = {
      item("y.tsv", "label\ttext\ttext_pair\nno\ta\tb\nno\tb\tc\nyes\tc\td\nyes\td\ta\n\tc c\t\n")};
  options.folds = 2;
  const auto selected = select(options).data;
  std::multiset<std::string> seen;
  visit_labelled_texts(selected.train, format_,
                       [&](std::string_view text) { seen.insert(std::string(text)); });
  const auto held = dataset(selected.evaluate);
  for (int64_t i = 0; i < held->size(0); ++i) {
    const auto pair = held->texts(0, i);
    seen.insert(pair.begin(), pair.end());
  }
  EXPECT_EQ(held->size(0), 2);
  EXPECT_EQ(seen, (std::multiset<std::string>{"a", "a", "b", "b", "c", "c", "d", "d"}));
}

TEST_F(RowSelectionTest, SplitCoversSeveralFilesAndKnowsAllClasses) {
  DataOptions options;
  auto both = item("x.tsv", kSixRows);
  both.files.push_back(folder_.write("y.tsv", "label\ttext\nrare\tc c\nno\td d\nyes\tc d\n"));
  options.train = {both, item("z.tsv", "label\ttext\nno\ta\nno\ta b\nyes\tb a\n")};
  options.split = {.evaluate = 2, .test = 0.25};
  const auto selection = select(options);
  ASSERT_TRUE(selection.record.has_value());
  const auto& record = *selection.record;
  ASSERT_EQ(record.files.size(), 3U);
  EXPECT_EQ(record.files[1].path, both.files[1]);
  EXPECT_EQ(record.files[1].rows, 3);
  EXPECT_EQ(selection.remarks.back(),
            "split with seed 1: 7 rows to train, 2 to evaluate, 3 to test");
  EXPECT_TRUE(selection.data.has_evaluation());
  EXPECT_FALSE(selection.data.split.is_used());

  const auto train = dataset(selection.data.train);
  EXPECT_EQ(train->labels(), (std::vector<std::string>{"no", "rare", "yes"}));
  auto all = texts(*train);
  EXPECT_EQ(all.size(), 7U);
  for (const auto part : {SplitPart::kEvaluate, SplitPart::kTest}) {
    const auto held = dataset(items_of_part(options.train, record, part));
    EXPECT_EQ(held->labels(), train->labels());
    EXPECT_EQ(held->rows(), part == SplitPart::kTest ? 3 : 2);
    const auto found = texts(*held);
    all.insert(found.begin(), found.end());
  }
  EXPECT_EQ(all, (std::multiset<std::string>{"a", "a", "a a", "a b", "b", "b a", "b b", "c", "c c",
                                             "c d", "d", "d d"}));
}

TEST_F(RowSelectionTest, RecordIsReadBackAndUsedAsItIs) {
  DataOptions options;
  options.train = {item("x.tsv", kSixRows)};
  options.split = {.evaluate = 1, .test = 2};
  const auto record = *select(options).record;
  write_split_record(folder_.path(), record);
  auto again = read_split_record(folder_.path());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->files[0].test, record.files[0].test);
  EXPECT_EQ(again->files[0].evaluate, record.files[0].evaluate);
  EXPECT_EQ(again->files[0].digest, record.files[0].digest);

  again->files[0].evaluate = {0, 3};
  again->files[0].test = {5};
  const auto selection = select(options, again);
  EXPECT_EQ(*selection.data.train[0].rows, (RowNumbers{1, 2, 4}));
  EXPECT_EQ(*selection.data.evaluate[0].rows, (RowNumbers{0, 3}));
  EXPECT_EQ(selection.remarks.back(),
            "split as recorded: 3 rows to train, 2 to evaluate, 1 to test");
}

TEST_F(RowSelectionTest, RecordCountsRowsFromOneAndRefusesOthers) {
  const SplitRecord record{
      .seed = 3, .files = {{.path = "x", .digest = 255, .rows = 4, .evaluate = {0}, .test = {3}}}};
  write_split_record(folder_.path(), record);
  const auto path = folder_.path("split.json");
  EXPECT_EQ(test::Folder::read(path),
            "{\"format\": 1, \"seed\": 3, \"files\": [\n"
            "{\"path\":\"x\",\"digest\":\"00000000000000ff\",\"rows\":4,\"evaluate\":[1],"
            "\"test\":[4]}\n]}\n");
  folder_.write("split.json",
                "{\"format\": 1, \"seed\": 3, \"files\": [{\"digest\": \"ff\", \"evaluate\": [5], "
                "\"path\": \"x\", \"rows\": 4, \"test\": []}]}");
  EXPECT_EQ(test::message_of<formats::Error>([&] { read_split_record(folder_.path()); }),
            path + ": row 5, must be from 1 to 4");
  EXPECT_FALSE(read_split_record(folder_.path("none")).has_value());
}

TEST_F(RowSelectionTest, RefusesChangedFiles) {
  DataOptions options;
  options.train = {item("x.tsv", kSixRows)};
  options.split = {.test = 2};
  const auto record = *select(options).record;
  const auto message = [&](const std::vector<DataItem>& items) {
    return test::message_of<Error>([&] { items_of_part(items, record, SplitPart::kTest); });
  };
  auto two = options.train;
  two.push_back(item("y.tsv", kSixRows));
  EXPECT_EQ(message(two),
            two[1].path + ": not one of the files whose split was recorded (split.json)");
  EXPECT_EQ(message({}), options.train[0].path +
                             ": is in the recorded split (split.json), but not in data.train");
  item("x.tsv", std::string(kSixRows) + "no\tc c\n");
  EXPECT_NE(message(options.train).find("x.tsv: has changed since the run split its rows (digest "),
            std::string::npos);
}

TEST_F(RowSelectionTest, LabelsOfIdxFilesAndImagesOfAFolderBelongToTheDigest) {
  using std::string_literals::operator""s;
  const auto images =
      item("t-images-idx3-ubyte", "\0\0\x08\x03\0\0\0\x04\0\0\0\x01\0\0\0\x01"s + "abcd");
  const auto labels = "\0\0\x08\x01\0\0\0\x04"s;
  folder_.write("t-labels-idx1-ubyte", labels + "\0\1\0\1"s);
  DataOptions options;
  options.train = {images};
  options.split = {.test = 2};
  const auto read = [](const DataItem& one) { return image_split_rows(one, true); };
  const auto record = *select_rows(options, 1, read).record;
  EXPECT_EQ(items_of_part(options.train, record, SplitPart::kTest)[0].rows->size(), 2U);
  folder_.write("t-labels-idx1-ubyte", labels + "\0\1\1\1"s);
  EXPECT_THROW(items_of_part(options.train, record, SplitPart::kTest), Error);

  std::filesystem::create_directories(folder_.path("f/a"));
  folder_.write("f/a/1.pgm", "P5 1 1 255\nx");
  folder_.write("f/a/2.pgm", "P5 1 1 255\ny");
  options.train[0].path = folder_.path("f");
  options.train[0].files = {folder_.path("f")};
  options.split = {.test = 1};
  const auto of_folder = *select_rows(options, 1, read).record;
  folder_.write("f/a/3.pgm", "P5 1 1 255\nz");
  EXPECT_THROW(items_of_part(options.train, of_folder, SplitPart::kTest), Error);
}

TEST_F(RowSelectionTest, ImagesKeepTheirRowsAndClasses) {
  auto images = item("p.csv", "10,7\n20,8\n30,7\n40,9\n");
  ImageSettings settings;
  settings.format = {.size = 1, .channels = 1, .image_mean = {0}, .image_std = {1.0 / 255}};
  settings.patch = 1;
  const auto all = make_image_dataset({images}, settings);
  images.rows = RowNumbers{1, 2};
  const auto some = make_image_dataset({images}, settings);
  EXPECT_EQ(some->labels(), (std::vector<std::string>{"7", "8", "9"}));
  EXPECT_EQ(some->class_counts(), (RowNumbers{1, 1, 0}));
  EXPECT_EQ(some->rows(), 2);
  ASSERT_EQ(some->size(0), 2);
  EXPECT_EQ(some->example(0, 0).patches[0], all->example(0, 1).patches[0]);
  EXPECT_EQ(some->example(0, 1).label, 0);
  EXPECT_EQ(some->location(0, 1), images.path + ", image 3");
  EXPECT_NE(some->fingerprint(), all->fingerprint());
}

TEST_F(RowSelectionTest, SentencesKeepTheirTags) {
  auto tags = item("x.conll", "a O\nb N\n\nc V\n\nd N\na O\n");
  tags.rows = RowNumbers{1, 2};
  const auto some = make_tagged_dataset({tags}, {}, tokenizer_);
  EXPECT_EQ(some->labels(), (std::vector<std::string>{"N", "O", "V"}));
  ASSERT_EQ(some->size(0), 2);
  EXPECT_EQ(some->words(0, 0), (std::vector<std::string>{"c"}));
  EXPECT_EQ(some->words(0, 1), (std::vector<std::string>{"d", "a"}));
  EXPECT_EQ(some->example(0, 1).targets, (RowNumbers{0, 1}));
  std::vector<std::string> seen;
  visit_tagged_texts({tags}, [&](std::string_view text) { seen.emplace_back(text); });
  EXPECT_EQ(seen, (std::vector<std::string>{"c", "d a"}));
}

}  // namespace
}  // namespace weft::data
