#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/tokenizers/models/linear_byte_pair.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/pair_table.h"

namespace weft::data {
namespace {

TEST(PairTable, FindsTheLastOfEachPairAndNothingElse) {
  PairTable table;
  for (int32_t i = 0; i < 500; ++i) {
    table.put(i, i + 1, {.rank = i, .id = 1000 + i});
  }
  table.put(7, 8, {.rank = 900, .id = 5});
  EXPECT_EQ(table.find(7, 8).rank, 900);
  EXPECT_EQ(table.find(499, 500).id, 1499);
  EXPECT_EQ(table.find(8, 7).rank, Merge::kNever);
  int64_t pairs = 0;
  table.visit([&](int32_t left, int32_t right, const Merge&) {
    EXPECT_EQ(left + 1, right);
    ++pairs;
  });
  EXPECT_EQ(pairs, 500);
}

/// Byte pair encoding as in its paper: apply the earliest merge, leftmost first, again and
/// again.
std::vector<std::string> merged_plainly(
    const std::string& word, const std::vector<std::pair<std::string, std::string>>& merges) {
  std::vector<std::string> pieces;
  for (const char character : word) {
    pieces.emplace_back(1, character);
  }
  for (;;) {
    std::size_t best_rank = merges.size();
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].first == pieces[i] && merges[rank].second == pieces[i + 1]) {
          best_rank = rank;
          best = i;
        }
      }
    }
    if (best_rank == merges.size()) {
      return pieces;
    }
    pieces[best] += pieces[best + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

// Short words and long ones are merged in two ways.
TEST(BytePair, MergesWordsOfAllLengthsAsItsPaperHasIt) {
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"a", "b"},  {"b", "a"},  {"ab", "ab"}, {"c", "c"},    {"a", "a"},
      {"c", "ab"}, {"ba", "c"}, {"aa", "b"},  {"abab", "c"}, {"cc", "cc"}};
  formats::Json vocabulary = {{"a", 0}, {"b", 1}, {"c", 2}};
  formats::Json list = formats::Json::array();
  for (const auto& [left, right] : merges) {
    list.push_back({left, right});
    if (!vocabulary.contains(left + right)) {
      vocabulary[left + right] = vocabulary.size();
    }
  }
  const formats::Json model = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}};
  const auto result = make_byte_pair(JsonFields(model, "model"));
  uint64_t state = 1;
  for (int length = 1; length < 80; ++length) {
    for (int round = 0; round < 5; ++round) {
      std::string word;
      for (int i = 0; i < length; ++i) {
        state = hash_combine(state, 1);
        word += static_cast<char>('a' + state % 3);
      }
      std::vector<Piece> pieces;
      result->tokenize(word, pieces);
      std::vector<std::string> found;
      std::size_t end = 0;
      for (const Piece& piece : pieces) {
        EXPECT_EQ(piece.begin, end);
        end = piece.end;
        found.emplace_back(result->vocabulary().piece(piece.id));
        EXPECT_EQ(found.back(), word.substr(piece.begin, piece.end - piece.begin));
      }
      ASSERT_EQ(found, merged_plainly(word, merges)) << word;
    }
  }
}

/// Random merges of the letters a to d, most of which never apply as a training would not learn
/// them.
class LinearBytePairTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::vector<std::string> texts;
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      bytes_[byte] = static_cast<int32_t>(byte);
      texts.emplace_back(1, static_cast<char>(byte));
    }
    std::vector<int32_t> pieces = {'a', 'b', 'c', 'd'};
    while (rules_.size() < 60) {
      const int32_t left = pieces[next(pieces.size())];
      const int32_t right = pieces[next(pieces.size())];
      const std::string text =
          texts[static_cast<std::size_t>(left)] + texts[static_cast<std::size_t>(right)];
      if (text.size() > 8 || std::find(texts.begin(), texts.end(), text) != texts.end()) {
        continue;
      }
      const auto id = static_cast<int32_t>(texts.size());
      const auto rank = static_cast<int32_t>(2 * rules_.size());
      rules_.push_back({left, right, {rank, id}});
      table_.put(left, right, {rank, id});
      merges_.emplace_back(texts[static_cast<std::size_t>(left)],
                           texts[static_cast<std::size_t>(right)]);
      pieces.push_back(id);
      texts.push_back(text);
    }
    texts_ = texts;
  }

  std::size_t next(std::size_t below) {
    state_ = hash_combine(state_, 1);
    return state_ % below;
  }

  uint64_t state_ = static_cast<uint64_t>(GetParam());
  std::array<int32_t, 256> bytes_{};
  std::vector<LinearBytePair::Rule> rules_;
  PairTable table_;
  std::vector<std::pair<std::string, std::string>> merges_;
  std::vector<std::string> texts_;  // by id
};

TEST_P(LinearBytePairTest, EqualsMergingAsItsPaperHasIt) {
  const auto linear = LinearBytePair::make(bytes_, rules_, table_);
  ASSERT_NE(linear, nullptr);
  for (int round = 0; round < 100; ++round) {
    std::string word;
    for (std::size_t left = next(40), letters = 1 + next(4); left > 0; --left) {
      word += static_cast<char>('a' + next(letters));
    }
    std::vector<Piece> pieces = {{-7, 0, 0}};
    linear->tokenize(word, pieces);
    std::vector<std::string> found;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      found.push_back(texts_[static_cast<std::size_t>(pieces[i].id)]);
      EXPECT_EQ(found.back(), word.substr(pieces[i].begin, pieces[i].end - pieces[i].begin));
    }
    ASSERT_EQ(found, merged_plainly(word, merges_)) << word;
  }
}

TEST_P(LinearBytePairTest, RefusesMergesThatNoTrainingLearns) {
  const auto is_refused = [&](const std::vector<LinearBytePair::Rule>& rules) {
    return LinearBytePair::make(bytes_, rules, table_) == nullptr;
  };
  std::vector<LinearBytePair::Rule> twice = rules_;
  twice.back().merge.id = twice.front().merge.id;  // two merges make one piece
  EXPECT_TRUE(is_refused(twice));
  std::vector<LinearBytePair::Rule> early = rules_;
  early.front().left = early.back().merge.id;  // a part is made after the whole
  EXPECT_TRUE(is_refused(early));
}

INSTANTIATE_TEST_SUITE_P(Merges, LinearBytePairTest, ::testing::Range(1, 60));

}  // namespace
}  // namespace weft::data
