#include "data/text/ibm_model_1.h"

#include <map>

#include <gtest/gtest.h>

namespace weft::data {
namespace {

struct TokenPair {
  std::vector<int64_t> source;
  std::vector<int64_t> target;
};

enum Source : int64_t { kDas, kHaus, kBuch, kEin };
enum Target : int32_t { kThe, kHouse, kBook, kA };

/// das Haus - the house, das Buch - the book, ein Buch - a book.
const std::vector<TokenPair>& books() {
  static const std::vector<TokenPair> kPairs = {{{kDas, kHaus}, {kThe, kHouse}},
                                                {{kDas, kBuch}, {kThe, kBook}},
                                                {{kEin, kBuch}, {kA, kBook}}};
  return kPairs;
}

IbmModel1 estimated(const std::vector<TokenPair>& pairs, int64_t iterations) {
  return IbmModel1(
      [&](const TokenPairVisitor& visitor) {
        for (const auto& pair : pairs) {
          visitor(pair.source, pair.target);
        }
      },
      {.source_vocabulary = 5, .iterations = iterations});
}

std::map<int32_t, double> translations(const IbmModel1& model, int64_t source) {
  std::map<int32_t, double> result;
  for (const auto& [target, probability] : model.best(source, 5000)) {
    result[target] = probability;
  }
  return result;
}

void expect_equal(const std::map<int32_t, double>& found, const std::map<int32_t, double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [target, probability] : wanted) {
    EXPECT_NEAR(found.at(target), probability, 1e-15) << target;
  }
}

TEST(IbmModel1, FirstIterationSharesEachTargetEqually) {
  // Each target token is divided among the two source tokens and none: 1/3 each.
  const auto model = estimated(books(), 1);
  expect_equal(translations(model, kDas), {{kThe, 1.0 / 2}, {kHouse, 1.0 / 4}, {kBook, 1.0 / 4}});
  expect_equal(translations(model, kHaus), {{kThe, 1.0 / 2}, {kHouse, 1.0 / 2}});
  expect_equal(translations(model, kBuch), {{kThe, 1.0 / 4}, {kBook, 1.0 / 2}, {kA, 1.0 / 4}});
}

TEST(IbmModel1, SecondIterationIsThatByHand) {
  // The table of no token after the first: the 1/3, house 1/6, book 1/3, a 1/6. For example `the`
  // of the first pair is divided by 1/3 + 1/2 + 1/2 = 4/3: 3/8 go to das, 3/8 to Haus.
  const auto model = estimated(books(), 2);
  expect_equal(translations(model, kHaus), {{kThe, 11.0 / 27}, {kHouse, 16.0 / 27}});
  expect_equal(translations(model, kEin), {{kA, 16.0 / 27}, {kBook, 11.0 / 27}});
  const double sum = 3.0 / 8 + 6.0 / 13 + 3.0 / 11 + 3.0 / 13;
  expect_equal(
      translations(model, kDas),
      {{kThe, (3.0 / 8 + 6.0 / 13) / sum}, {kHouse, 3.0 / 11 / sum}, {kBook, 3.0 / 13 / sum}});
}

TEST(IbmModel1, FindsTheTranslationsInTheEnd) {
  const auto model = estimated(books(), 100);
  EXPECT_EQ(model.best(kDas, 1).at(0).target, kThe);
  EXPECT_EQ(model.best(kHaus, 1).at(0).target, kHouse);
  EXPECT_EQ(model.best(kBuch, 1).at(0).target, kBook);
  EXPECT_EQ(model.best(kEin, 1).at(0).target, kA);
  EXPECT_GT(model.best(kHaus, 1).at(0).probability, 0.99);
}

TEST(IbmModel1, EveryOccurrenceCounts) {
  // Twice the same source token gets 2/3 of the target token, then normalised with the second pair:
  // x 2/3, y 1/2.
  const auto model = estimated({{{0, 0}, {1}}, {{0}, {2}}}, 1);
  expect_equal(translations(model, 0), {{1, 4.0 / 7}, {2, 3.0 / 7}});
}

TEST(IbmModel1, BestAreInOrder) {
  const auto model = estimated(books(), 1);
  const auto best = model.best(kBuch, 2);
  ASSERT_EQ(best.size(), 2U);
  EXPECT_EQ(best[0].target, kBook);
  EXPECT_EQ(best[1].target, kThe);  // as likely as `a`
  EXPECT_TRUE(model.best(4, 3).empty());
}

TEST(IbmModel1, ManyTokensKeepOneEntryEach) {
  // More occurrences than are kept before duplicates are removed.
  std::vector<TokenPair> pairs;
  for (int64_t i = 0; i < 9000; ++i) {
    pairs.push_back({{0}, {i % 3000}});
  }
  const auto found = translations(estimated(pairs, 2), 0);
  ASSERT_EQ(found.size(), 3000U);
  for (const auto& [target, probability] : found) {
    EXPECT_NEAR(probability, 1.0 / 3000, 1e-12) << target;
  }
}

}  // namespace
}  // namespace weft::data
