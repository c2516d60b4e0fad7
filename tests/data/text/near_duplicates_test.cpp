#include "data/text/near_duplicates.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/text/text_shingles.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

RowTexts compared(const Rows& rows) {
  return {.size = static_cast<int64_t>(rows.size()),
          .texts = [&rows](int64_t row) { return rows[static_cast<std::size_t>(row)]; }};
}

std::vector<NearDuplicate> find(const Rows& train, const Rows& evaluate) {
  return find_near_duplicates(compared(train), compared(evaluate),
                              [](int64_t, int64_t) { return true; });
}

/// `evaluate,train` of each row found, `=` after exact ones.
std::vector<std::string> found(const Rows& train, const Rows& evaluate) {
  std::vector<std::string> rows;
  for (const NearDuplicate& one : find(train, evaluate)) {
    rows.push_back(std::to_string(one.evaluate) + "," + std::to_string(one.train) +
                   (one.is_exact ? "=" : ""));
  }
  return rows;
}

using Found = std::vector<std::string>;

/// Texts of words drawn from 400.
std::string drawn_text(uint64_t item, int words) {
  Random random(7, RandomPurpose::kSample, 0, item);
  std::string text;
  for (int i = 0; i < words; ++i) {
    const uint64_t word = random.uniform_int(400);
    text += (text.empty() ? "" : " ") + std::string(1, static_cast<char>('a' + word % 26)) + "x" +
            std::to_string(word);
  }
  return text;
}

TEST(ComparedForm, IgnoresCasePunctuationAndSpaces) {
  EXPECT_EQ(normalize_text("  Hello,\tWORLD -- it's 5!"), U"hello world it s 5");
  EXPECT_EQ(normalize_text("ÉTÉ Ω ж"), U"été ω ж");
  EXPECT_EQ(normalize_text("नमस्ते"), U"नमस्ते");  // the vowel signs belong to the word
  EXPECT_EQ(normalize_text(" ?! "), U"?!");    // no word in it
  EXPECT_EQ(normalize_text(" \n"), U"");
}

TEST(Shingles, AreSpansOfFive) {
  EXPECT_EQ(make_shingles(U"abcdef").size(), 2U);
  EXPECT_EQ(make_shingles(U"aaaaaaaaa").size(), 1U);
  EXPECT_EQ(make_shingles(U"ab").size(), 1U);
  EXPECT_TRUE(make_shingles(U"").empty());
  // abcde bcdef cdefg | bcdef cdefg defgh: 2 of 4.
  EXPECT_EQ(jaccard(make_shingles(U"abcdefg"), make_shingles(U"bcdefgh")), 0.5);
  EXPECT_EQ(jaccard({}, {}), 1.0);
}

TEST(MinHashSignature, SignaturesAgreeInProportionToSharedShingles) {
  double expected = 0;
  double matching_hashes = 0;
  for (uint64_t item = 0; item < 200; ++item) {
    const std::string whole = drawn_text(item, 20);
    const std::string part = whole.substr(0, whole.size() * 3 / 4);
    expected += jaccard(make_shingles(normalize_text(whole)), make_shingles(normalize_text(part)));
    matching_hashes += minhash_signature({whole}).matching_hashes(minhash_signature({part})) / 64.0;
  }
  EXPECT_NEAR(matching_hashes / 200, expected / 200, 0.02);  // 4 standard deviations of the mean
}

TEST(NearDuplicates, FindsPlantedRows) {
  const Rows train = {{"The cat sat on the mat in the kitchen."},
                      {"An entirely different sentence about looms."},
                      {"Call 0906 1701 now to claim your prize of 2000 pounds!"}};
  EXPECT_EQ(found(train, {{"the CAT sat on the mat, in the kitchen"},  // but for the case
                          {"a third one, not seen before"},
                          {"Call 0906 1702 now to claim your prize of 2000 pounds!"}}),
            (Found{"0,0=", "2,2"}));
}

TEST(NearDuplicates, IgnoresMerelySimilarRows) {
  // 41 of 45 characters are the same, but the shingles' similarity is 0.7.
  EXPECT_EQ(found({{"a man is playing a guitar in the old town"}},
                  {{"a man is playing a guitar in the new town"}}),
            Found{});
  EXPECT_EQ(found({{""}, {"!"}}, {{""}, {"?"}}), Found{});  // empty rows are not duplicates
  EXPECT_EQ(found({{"😀"}}, {{"😀"}}), Found{"0,0="});
}

TEST(NearDuplicates, ComparesBothTextsOfPairs) {
  const std::string premise = "Two dogs are running across a wide field of green grass near a lake";
  const Rows train = {{premise, "Two animals are outside"}};
  EXPECT_EQ(found(train, {{premise, "The dogs are asleep"}}), Found{});
  EXPECT_EQ(found(train, {{premise + " today", "Two animals are outside."}}), Found{"0,0"});
  EXPECT_EQ(found(train, {{"Two animals are outside", premise}}), Found{});
  EXPECT_EQ(found(train, {{premise, "two animals are OUTSIDE"}}), Found{"0,0="});
  EXPECT_EQ(found({{"ab", "c"}}, {{"a", "bc"}}), Found{});
}

TEST(NearDuplicates, PrefersTheSameLabelAmongSimilarRows) {
  const Rows train = {{"one text"}, {"one text"}, {"one text"}};
  const Rows evaluate = {{"one text"}};
  const auto rows = find_near_duplicates(compared(train), compared(evaluate),
                                         [](int64_t, int64_t row) { return row == 1; });
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].train, 1);
  EXPECT_TRUE(rows[0].has_same_label);
  const auto others = find_near_duplicates(compared(train), compared(evaluate),
                                           [](int64_t, int64_t) { return false; });
  EXPECT_EQ(others[0].train, 0);
  EXPECT_FALSE(others[0].has_same_label);
}

TEST(NearDuplicates, PrefersTheExactRow) {
  const std::string text = "A rather long sentence, so that a letter more does not count for much";
  EXPECT_EQ(found({{text + "s"}, {text}}, {{text}}), Found{"0,1="});
}

/// Each evaluation row is a training row with some of its letters changed: all pairs of a
/// similarity of 0.8 must be found, and no others.
TEST(NearDuplicates, MatchesComparingAllPairs) {
  Rows train;
  Rows evaluate;
  for (uint64_t item = 0; item < 600; ++item) {
    train.push_back({drawn_text(item, 6 + static_cast<int>(item % 30))});
    std::string changed = train.back()[0];
    Random random(3, RandomPurpose::kSample, 1, item);
    for (uint64_t change = 0; change < item % 4; ++change) {
      changed[random.uniform_int(changed.size())] = 'q';
    }
    evaluate.push_back({changed});
  }
  int64_t expected = 0;
  int64_t missed = 0;
  const auto rows = find(train, evaluate);
  for (std::size_t row = 0; row < evaluate.size(); ++row) {
    const double similarity = jaccard(make_shingles(normalize_text(evaluate[row][0])),
                                      make_shingles(normalize_text(train[row][0])));
    const auto one = std::find_if(rows.begin(), rows.end(), [&](const NearDuplicate& found) {
      return found.evaluate == static_cast<int64_t>(row);
    });
    if (similarity >= 0.8) {
      ++expected;
      missed += one == rows.end() ? 1 : 0;
    } else {
      EXPECT_EQ(one, rows.end()) << evaluate[row][0];
    }
  }
  EXPECT_GT(expected, 200);
  EXPECT_LT(expected, 600);
  EXPECT_EQ(missed, 0);
}

TEST(NearDuplicates, DoesNotDependOnTheNumberOfThreads) {
  Rows train;
  Rows evaluate;
  for (uint64_t item = 0; item < 3000; ++item) {
    train.push_back({drawn_text(item % 500, 9) + (item % 2 == 0 ? " end" : "")});
    evaluate.push_back({drawn_text(item % 700, 9)});
  }
  const Found whole = found(train, evaluate);
  EXPECT_GT(whole.size(), 1000U);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  const Found single = found(train, evaluate);
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(whole, single);
}

TEST(NearDuplicates, StaysLinearWhereAllRowsAreAlike) {
  // 20,000 rows of one template: comparing each with each would take minutes.
  Rows train;
  Rows evaluate;
  for (int i = 0; i < 20000; ++i) {
    train.push_back(
        {"Dear customer, your order has been sent and will be with you soon " + std::to_string(i)});
    evaluate.push_back({"Dear customer, your order has been sent and will be with you soon x"});
  }
  EXPECT_EQ(find(train, evaluate).size(), 20000U);
}

class NearDuplicateWarning : public ::testing::Test {
 protected:
  std::shared_ptr<const LabelledDataset> make(const std::string& name, const std::string& content) {
    const auto item = test::data_item(folder_, name, content);
    return make_labelled_dataset({item}, {.labels = {"0", "1"}}, tokenizer_);
  }

  std::string warning(const LabelledDataset& train, const LabelledDataset& evaluate) {
    std::string text = near_duplicate_warning(train, evaluate).value_or("nothing");
    for (auto at = text.find(folder_.path()); at != std::string::npos;
         at = text.find(folder_.path())) {
      text.erase(at, folder_.path().size() + 1);
    }
    return text;
  }

  test::Folder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"a", "b", "c", "d"});
};

TEST_F(NearDuplicateWarning, NamesRowsAndOtherLabels) {
  const auto train = make("train.tsv", "text\tlabel\na b\t0\nb c\t1\nc d\t0\n");
  const auto evaluate = make("dev.tsv", "text\tlabel\nd d\t0\nB c!\t1\na b\t1\n");
  EXPECT_EQ(warning(*train, *evaluate),
            "2 of 3 evaluation rows also occur in the training data, 2 verbatim and 0 nearly "
            "identical (e.g. "
            "dev.tsv, row 2 and train.tsv, row 2); 1 of them with a different label (e.g. dev.tsv, "
            "row 3 and train.tsv, row 1)");
  EXPECT_EQ(warning(*train, *make("test.tsv", "text\tlabel\nd a\t0\n")), "nothing");
}

}  // namespace
}  // namespace weft::data
