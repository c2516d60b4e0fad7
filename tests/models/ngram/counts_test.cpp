#include "models/ngram/counts.h"

#include <map>

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/folder.h"
#include "toy.h"

namespace weft::models {
namespace {

using Tokens = std::vector<int64_t>;

/// All n-grams of orders 2 and above with their counts, from the trie.
std::map<Tokens, int64_t> ngrams_of(const NgramCounts& counts) {
  std::map<Tokens, int64_t> result;
  std::vector<Tokens> paths;
  for (std::size_t token = 0; token < counts.size(0); ++token) {
    paths.push_back({static_cast<int64_t>(token)});
  }
  for (std::size_t order = 1; order < counts.orders.size(); ++order) {
    const auto& begins = counts.orders[order - 1].first_child;
    std::vector<Tokens> next;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      for (auto child = begins[i]; child < begins[i + 1]; ++child) {
        auto path = paths[i];
        path.push_back(counts.orders[order].tokens[child]);
        result[path] = counts.orders[order].counts[child];
        next.push_back(std::move(path));
      }
    }
    paths = std::move(next);
  }
  return result;
}

/// The same, counted one by one.
std::map<Tokens, int64_t> naive_ngrams(const std::vector<Tokens>& sequences, int64_t order) {
  std::map<Tokens, int64_t> result;
  for (const auto& sequence : sequences) {
    for (std::size_t begin = 0; begin < sequence.size(); ++begin) {
      for (std::size_t end = begin + 2;
           end <= std::min(sequence.size(), begin + static_cast<std::size_t>(order)); ++end) {
        ++result[{sequence.begin() + static_cast<std::ptrdiff_t>(begin),
                  sequence.begin() + static_cast<std::ptrdiff_t>(end)}];
      }
    }
  }
  return result;
}

TEST(NgramCounts, CountsTheToyCorpus) {
  const test::Folder folder;
  const auto counts = test::count_ngrams(
      test::toy_corpus(),
      {.order = 2, .vocabulary = test::kToyVocabulary, .directory = folder.path()});
  const auto& tokens = counts.orders[0].counts;
  EXPECT_EQ((Tokens{tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]}),
            (Tokens{0, 3, 4, 4, 2}));  // <s> is never predicted
  EXPECT_EQ(counts.tokens, 13);
  const auto ngrams = ngrams_of(counts);
  EXPECT_EQ(ngrams.at({test::kA, test::kB}), 2);
  EXPECT_EQ(ngrams.at({test::kBegin, test::kA}), 2);
  EXPECT_EQ(ngrams.at({test::kC, test::kEnd}), 2);
  EXPECT_EQ(ngrams.size(), 8U);
}

TEST(NgramCounts, DoNotDependOnBlocksAndThreads) {
  const test::Folder folder;
  Random random(1, RandomPurpose::kSample, 0, 0);
  std::vector<Tokens> sequences;
  for (int i = 0; i < 300; ++i) {
    Tokens sequence(random.uniform_int(12));  // also empty ones
    for (auto& token : sequence) {
      token = static_cast<int64_t>(random.uniform_int(i % 3 == 0 ? 4 : 70'000));  // two digits
    }
    sequences.push_back(std::move(sequence));
  }
  for (const int64_t order : {1, 2, 3, 7}) {
    const auto expected = naive_ngrams(sequences, order);
    for (const int64_t block : {1, 50, 1 << 20}) {
      for (const int threads : {1, 3}) {
        EXPECT_EQ(ngrams_of(test::count_ngrams(sequences, {.order = order,
                                                           .vocabulary = 70'000,
                                                           .directory = folder.path(),
                                                           .block_tokens = block,
                                                           .threads = threads})),
                  expected)
            << order << " " << block;
      }
    }
  }
}

TEST(NgramCounts, LeaveNoFiles) {
  const test::Folder folder;
  const auto counts = test::count_ngrams(
      test::toy_corpus(),
      {.order = 3, .vocabulary = test::kToyVocabulary, .directory = folder.path()});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace weft::models
