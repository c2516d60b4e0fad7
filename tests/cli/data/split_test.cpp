#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(test::contents(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  return lines;
}

class SplitCommand : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    test::write(work_ / name, content);
    return work_ / name;
  }

  test::ProcessResult split(const std::vector<std::string>& files,
                            const std::vector<std::string>& options) const {
    std::vector<std::string> words = {"data", "split"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--output", work_ / "parts"});
    return test::weft(words);
  }

  std::string refusal(const std::vector<std::string>& files,
                      const std::vector<std::string>& options) const {
    const auto result = split(files, options);
    EXPECT_EQ(result.status, 2);
    EXPECT_FALSE(fs::exists(work_ / "parts"));
    return test::filled(result.err, work_.path() + "/", "");
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  test::TemporaryDirectory work_;
};

/// Forty rows, two for each text, of two classes and five visitors.
std::string rows_with_duplicates(char separator, const std::string& line_end) {
  std::string rows = std::string("id") + separator + "text" + separator + "label" + line_end;
  for (int row = 0; row < 40; ++row) {
    rows += std::to_string(row % 5) + separator + "text " + std::to_string(row / 2) + separator +
            (row % 4 < 2 ? "no" : "yes") + line_end;
  }
  return rows;
}

TEST_F(SplitCommand, CopiesLinesByteForByteAndKeepsDuplicatesTogether) {
  const auto whole = write("x.tsv", rows_with_duplicates('\t', "\r\n"));
  const auto result = split({whole}, {"--evaluate", "0.1", "--test", "8", "--seed", "2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "train: 28 rows in " + (work_ / "parts/train.tsv")));
  std::multiset<std::string> found;
  std::map<std::string, std::set<std::string>> files;
  for (const std::string part : {"train", "evaluate", "test"}) {
    auto lines = lines_of(work_ / "parts/" + part + ".tsv");
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.front(), "id\ttext\tlabel\r");
    found.insert(lines.begin() + 1, lines.end());
    for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
      files[line->substr(2, line->rfind('\t') - 2)].insert(part);
    }
    EXPECT_EQ(lines.size() - 1, part == "train" ? 28U : part == "test" ? 8U : 4U);
  }
  auto wanted = lines_of(whole);
  EXPECT_EQ(found, std::multiset<std::string>(wanted.begin() + 1, wanted.end()));
  for (const auto& [text, where] : files) {
    EXPECT_EQ(where.size(), 1U) << text;
  }
}

TEST_F(SplitCommand, DividesGroupsOfSeveralJsonFiles) {
  std::string rows;
  for (int row = 0; row < 10; ++row) {
    rows += "{\"patient\": " + std::to_string(row / 2) + ", \"words\": [\"w" + std::to_string(row) +
            "\"]}\n";
  }
  const auto first = write("a.jsonl", rows);
  const auto second = write("b.jsonl", test::filled(rows, "\"w", "\"v"));
  ASSERT_EQ(split({first, second}, {"--test", "0.2", "--group", "patient"}).status, 0);
  const auto tested = lines_of(work_ / "parts/test.jsonl");
  EXPECT_EQ(tested.size(), 4U);
  EXPECT_EQ(lines_of(work_ / "parts/train.jsonl").size(), 16U);
  EXPECT_FALSE(fs::exists(work_ / "parts/evaluate.jsonl"));
  std::set<char> patients;
  for (const auto& line : tested) {
    patients.insert(line[12]);
  }
  EXPECT_EQ(patients.size(), 1U);  // their rows are in both files
}

TEST_F(SplitCommand, SaysWhatItCannotSplit) {
  fs::create_directory(work_ / "images");
  EXPECT_TRUE(contains(refusal({work_ / "images"}, {"--test", "1"}),
                       "images: a folder; images are split without copying them"));
  EXPECT_TRUE(contains(refusal({write("x.txt", "a\n")}, {"--test", "1"}),
                       "x.txt: must be a csv, tsv or jsonl file"));
  const auto first = write("x.tsv", rows_with_duplicates('\t', "\n"));
  EXPECT_TRUE(contains(refusal({first, write("y.tsv", "text\tlabel\na\tb\n")}, {"--test", "1"}),
                       "y.tsv: other columns or format than the first file"));
  EXPECT_TRUE(contains(refusal({first}, {"--test", "1.5"}),
                       "--test 1.5: must be a fraction below 1 or a whole number of rows"));
  EXPECT_TRUE(contains(refusal({first}, {}), "--evaluate SIZE, --test SIZE or both"));
  EXPECT_TRUE(contains(refusal({first}, {"--test", "1", "--label", "labl"}),
                       "no column 'labl', did you mean 'label'?"));
}

constexpr const char* kImageSplitConfig = R"(
model: {type: vit, image_size: 4, patch_size: 2, num_channels: 1, dim: 8, layers: 1,
        attention: {heads: 2}, feed_forward: {width: 8}}
data:
  train: [{path: WORK/train.csv}]
  split: {evaluate: 0.25, test: 0.25}
objective: {type: classify}
train: {duration: 4 steps, batch_sequences: 8, precision: fp32, threads: 1, evaluate_every: 4 steps}
run: {directory: WORK/run, seed: 3, device: cpu}
)";

TEST_F(SplitCommand, EvaluatesImagesOnTheRowsThatTheRunHeldOut) {
  std::string rows;
  for (int row = 0; row < 24; ++row) {
    for (int pixel = 0; pixel < 16; ++pixel) {
      rows += std::to_string((row * 31 + pixel * 7) % 256) + ",";
    }
    rows += std::to_string(row % 2) + "\n";
  }
  write("train.csv", rows);
  const auto config = write("config.yaml", test::filled(kImageSplitConfig, "WORK", work_.path()));
  const auto trained = test::weft({"train", config});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_TRUE(
      contains(trained.err, "split with seed 3: 12 rows to train, 6 to evaluate, 6 to test"));
  const auto tested = test::weft({"evaluate", work_ / "run", "--split", "test"});
  ASSERT_EQ(tested.status, 0) << tested.err;
  const auto matrix = nlohmann::json::parse(tested.out)["confusion_matrix"];
  int images = 0;
  for (const auto& row : matrix) {
    for (const auto& count : row) {
      images += count.get<int>();
    }
  }
  EXPECT_EQ(images, 6);
  EXPECT_TRUE(contains(test::weft({"evaluate", work_ / "run", "--split", "tets"}).err,
                       "did you mean 'test'?"));
  EXPECT_TRUE(
      contains(test::weft({"evaluate", work_ / "run", "--split", "test", "--data", "x"}).err,
               "--split takes the files of the run, omit --data"));
  // Folds divide images, too.
  const auto folds = test::weft(
      {"train", config, "--folds", "2", "--set", "data.split={}", "--output", work_ / "folds"});
  ASSERT_EQ(folds.status, 0) << folds.err;
  EXPECT_TRUE(fs::exists(work_ / "folds/fold-2/last"));
}

}  // namespace
}  // namespace weft::cli
