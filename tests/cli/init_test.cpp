#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/init/column_choice.h"
#include "support/config.h"
#include "support/folder.h"
#include "train/run/run_config.h"

namespace weft::cli {
namespace {

using test::message_of;
using Words = std::vector<std::string>;

class InitTest : public ::testing::Test {
 protected:
  /// The config for the arguments, with the folder left out.
  std::string init(const Words& words) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run_init(words), 0);
    return testing::internal::GetCapturedStdout();
  }

  /// What `weft train` reads from it.
  train::RunConfig read(const Words& words) {
    const auto path = folder_.write("run.yaml", init(words));
    return train::read_run_config(config::Document::load(path, {}));
  }

  std::string reviews(const std::string& more = "") {
    std::string rows = "Review;Stars;Sentiment\n";
    for (int i = 0; i < 40; ++i) {
      rows += "\"good; indeed " + std::to_string(i) + "\";5;positive\n";
      rows += "a bad one " + std::to_string(i) + ";1;negative\n";
    }
    return folder_.write("reviews.csv", rows + more);
  }

  test::Folder folder_;
};

TEST_F(InitTest, ClassifiesATable) {
  const auto text = init({"classify", reviews(), "--directory", "runs/x"});
  EXPECT_NE(text.find("reviews.csv: 80 rows, fields are separated by ';'"), std::string::npos);
  EXPECT_NE(text.find("# Texts: 4 words on average, 95% have at most 4, the longest has 4\n"),
            std::string::npos);
  EXPECT_NE(text.find("# Classes: negative (40), positive (40)\n"), std::string::npos);
  EXPECT_NE(text.find("text: Review, label: Sentiment}"), std::string::npos);
  EXPECT_NE(text.find("run: {directory: runs/x}"), std::string::npos);
  const auto config = read({"classify", reviews()});
  EXPECT_EQ(config.run.directory, "runs/reviews");
}

TEST_F(InitTest, RowsWithoutALabelAreDropped) {
  const auto config = read({"classify", reviews("Nothing to say;5;\nNor here;1; \n")});
  EXPECT_EQ(config.data.unlabelled, data::Unlabelled::kDrop);
  EXPECT_EQ(read({"classify", reviews()}).data.unlabelled, data::Unlabelled::kRefuse);
  EXPECT_NE(init({"classify", reviews("Nothing to say;5;\n")})
                .find("\n  unlabelled: drop   # 1 row without a label\n"),
            std::string::npos);
}

TEST_F(InitTest, ColumnsWithoutAHeaderAreNumbers) {
  std::string rows;
  for (int i = 0; i < 20; ++i) {
    rows += std::string(i % 2 == 0 ? "ham" : "spam") + ",call me at " + std::to_string(i) + "\n";
  }
  const auto config = read({"classify", folder_.write("sms.csv", rows)});
  ASSERT_EQ(config.data.train.size(), 1U);
  EXPECT_EQ(config.data.train[0].text, "2");
  EXPECT_EQ(config.data.train[0].label, "1");
  EXPECT_FALSE(config.data.train[0].table.has_header);
}

TEST_F(InitTest, EveryTaskWritesAConfigThatTrains) {
  std::string tags;
  std::string lines;
  std::string scores = "sentence1\tsentence2\tscore\n";
  for (int i = 0; i < 20; ++i) {
    tags += "Ann B-PER\nsleeps O\n\n";
    lines += "line " + std::to_string(i) + "\n";
    scores += "one\ttwo\t" + std::to_string(i % 5) + "\n";
  }
  const auto a = folder_.write("a.en", lines);
  const auto b = folder_.write("b.de", lines);
  EXPECT_EQ(read({"regress", folder_.write("sts.tsv", scores)}).data.train[0].text_pair,
            "sentence2");
  EXPECT_NE(init({"tag", folder_.write("t.conll", tags)}).find("# Tags: B-PER (20), O (20)"),
            std::string::npos);
  const auto tagger = read({"tag", folder_.path("t.conll")});
  EXPECT_EQ(tagger.train.batch_sequences, 32) << "one step an epoch would not learn small data";
  const auto documents = folder_.write(
      "d.jsonl", "{\"sentences\": [\"a b\", \"c\"], \"labels\": [\"drop\", \"keep\"]}\n");
  EXPECT_NE(init({"tag", documents}).find(": 1 document, 2 sentences\n"), std::string::npos);
  EXPECT_TRUE(read({"tag", documents}).model.document.has_value());
  EXPECT_EQ(read({"seq2seq", a, b}).data.train[0].target_files, (Words{b}));
  EXPECT_EQ(read({"seq2seq", a, b, "--evaluate", b, "--evaluate", a}).data.evaluate[0].files,
            (Words{b}));
  EXPECT_EQ(read({"mlm", a, "--evaluate", b}).data.evaluate[0].path, b);
  read({"causal", a});
}

TEST_F(InitTest, ClassifiesTextsAndImagesByDirectory) {
  std::filesystem::create_directories(folder_.path("texts/pos"));
  std::filesystem::create_directories(folder_.path("texts/neg"));
  folder_.write("texts/pos/1.txt", "good");
  folder_.write("texts/neg/1.txt", "bad");
  EXPECT_EQ(read({"classify", folder_.path("texts/")}).run.directory, "runs/texts");
  std::filesystem::create_directories(folder_.path("shapes/dot"));
  folder_.write("shapes/dot/1.pgm", "P5\n10 9\n255\n" + std::string(90, '\x7F'));
  const auto text = init({"classify", folder_.path("shapes")});
  EXPECT_NE(text.find("1 image, of 9 x 10 pixels, grey"), std::string::npos);
  EXPECT_NE(text.find("image_size: 10, patch_size: 2, num_channels: 1}"), std::string::npos);
}

TEST_F(InitTest, LooksAtMoreThanOneImage) {
  std::filesystem::create_directories(folder_.path("mixed/dot"));
  folder_.write("mixed/dot/1.pgm", "P5\n10 9\n255\n" + std::string(90, '\x7F'));
  for (const auto* name : {"mixed/dot/2.ppm", "mixed/dot/3.ppm"}) {
    folder_.write(name, "P6\n20 16\n255\n" + std::string(960, '\x7F'));
  }
  const auto text = init({"classify", folder_.path("mixed")});
  EXPECT_NE(text.find("3 images, of 9 x 10 to 16 x 20 pixels, in colour"), std::string::npos)
      << text;
  EXPECT_NE(text.find("image_size: 21, patch_size: 3, num_channels: 3}"), std::string::npos)
      << text;
}

TEST_F(InitTest, RefusesFilesThatItWouldIgnore) {
  const auto a = folder_.write("a.txt", "one two\n");
  const auto b = folder_.write("b.txt", "three four\n");
  EXPECT_EQ(message_of<UsageError>([&] {
              run_init({"mlm", a, b});
            }),
            "weft init: mlm: found 2 files, must be one: quote a pattern such as 'corpus/*.txt', "
            "and name data to evaluate on with --evaluate");
  EXPECT_THROW(run_init({"classify", a, b, a, b}), UsageError);
  EXPECT_THROW(run_init({"seq2seq", a, b, a}), UsageError);
}

TEST_F(InitTest, RefusesNamesThatAYamlFileCannotHave) {
  const auto table = folder_.write("t.csv", "text,Priorit\xE4t\na,1\nb,2\nc,1\n");
  EXPECT_NE(message_of<UserError>([&] {
              run_init({"classify", table});
            }).find("iconv -f WINDOWS-1252 -t UTF-8"),
            std::string::npos);
}

TEST_F(InitTest, SaysWhatIsMissing) {
  const auto lists = folder_.write("lists.jsonl", "{\"texts\": [\"a\"], \"labels\": [\"b\"]}\n");
  EXPECT_NE(message_of<UserError>([&] {
              run_init({"tag", lists});
            }).find("no list words or tokens"),
            std::string::npos);
  const auto documents = folder_.write("d.jsonl", "{\"sentences\": [4], \"labels\": [\"b\"]}\n");
  EXPECT_NE(message_of<UserError>([&] {
              run_init({"tag", documents});
            }).find("d.jsonl:1: a sentence that is not a string"),
            std::string::npos);
  EXPECT_EQ(message_of<UserError>([] {
              run_init({"clasify", "a.csv"});
            }),
            "weft init: unknown task 'clasify', did you mean 'classify'? allowed: classify, "
            "regress, tag, seq2seq, mlm, causal");
  EXPECT_EQ(message_of<UserError>([] { run_init({"mlm", "none.txt"}); }), "none.txt: no such file");
  const auto path = folder_.write("t.tsv", "text\tid\na b\tx1\nc d\tx2\n");
  EXPECT_EQ(message_of<UserError>([&] {
              run_init({"classify", path});
            }),
            path +
                ": no column with 2 to 200 classes that occur more than once found; the columns "
                "are 'text', 'id'");
  EXPECT_NE(message_of<UserError>([&] {
              run_init({"seq2seq", path, path, "--evaluate", path});
            }).find("--evaluate: given 1 times, must be 2, once for each DATA"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::cli
