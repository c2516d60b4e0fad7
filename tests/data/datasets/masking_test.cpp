#include "data/datasets/masking.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

constexpr int64_t kMaskingMask = 4;
constexpr int64_t kSize = 105;  // ids 5 .. 104 are plain

/// Every third plain id continues the word before it.
class PiecesTokenizer : public test::ToyTokenizer {
 public:
  PiecesTokenizer() : ToyTokenizer({}, kSize) {}
  bool continues_word(int32_t id) const override { return id >= 5 && id % 3 == 0; }
};

const test::ToyTokenizer& masking_toy() {
  static const test::ToyTokenizer tokenizer({}, kSize);
  return tokenizer;
}

/// [CLS] and `count` plain tokens and [SEP].
Example sequence(int64_t count, uint64_t seed = 0) {
  Random random(seed, RandomPurpose::kSample, 0, 0);
  Example example;
  example.ids = {2};
  for (int64_t i = 0; i < count; ++i) {
    example.ids.push_back(5 + static_cast<int64_t>(random.uniform_int(kSize - 5)));
  }
  example.ids.push_back(3);
  return example;
}

Example masked(
    const Masker& masker, Example example, int64_t epoch, int64_t item, uint64_t seed = 1) {
  masker.mask(example, seed, epoch, item);
  return example;
}

TEST(Masker, ChoosesTheRoundedFractionOfEachSequence) {
  const Masker masker(masking_toy(), {});
  for (int64_t count = 0; count < 100; ++count) {
    const Example example = masked(masker, sequence(count), 0, count);
    const auto share = static_cast<int64_t>(std::llround(0.15 * static_cast<double>(count)));
    const int64_t expected = count == 0 ? 0 : std::max<int64_t>(1, share);
    EXPECT_EQ(static_cast<int64_t>(example.targets.size()), expected) << count;
  }
}

TEST(Masker, TargetsAreTheOriginalsAndNothingElseChanges) {
  const Masker masker(masking_toy(), {});
  for (int64_t item = 0; item < 200; ++item) {
    const Example before = sequence(40, static_cast<uint64_t>(item));
    const Example after = masked(masker, before, 0, item);
    std::set<int64_t> chosen;
    int64_t last = -1;
    for (std::size_t i = 0; i < after.targets.size(); ++i) {
      EXPECT_GT(after.target_positions[i], last);
      last = after.target_positions[i];
      EXPECT_EQ(after.targets[i], before.ids[static_cast<std::size_t>(last)]);
      chosen.insert(last);
    }
    for (std::size_t i = 0; i < before.ids.size(); ++i) {
      if (!chosen.contains(static_cast<int64_t>(i))) {
        EXPECT_EQ(after.ids[i], before.ids[i]);
      }
    }
  }
}

TEST(Masker, NeverChoosesNorDrawsSpecialTokens) {
  const Masker masker(masking_toy(),
                      {.fraction = 1.0, .mask_token_prob = 0.0, .random_token_prob = 1.0});
  Example example = sequence(30);
  example.ids[7] = 1;   // [UNK]
  example.ids[15] = 3;  // [SEP] between two texts
  std::set<int64_t> drawn;
  for (int64_t item = 0; item < 500; ++item) {
    const Example after = masked(masker, example, 0, item);
    EXPECT_EQ(after.targets.size(), 28U);
    for (const int64_t target : after.targets) {
      EXPECT_GE(target, 5);
    }
    EXPECT_EQ(after.ids[7], 1);
    EXPECT_EQ(after.ids[15], 3);
    for (const int64_t position : after.target_positions) {
      drawn.insert(after.ids[static_cast<std::size_t>(position)]);
    }
  }
  EXPECT_EQ(*drawn.begin(), 5);  // all plain ids come up in 14,000 draws, and no other
  EXPECT_EQ(drawn.size(), static_cast<std::size_t>(kSize - 5));
}

TEST(Masker, MaskProbabilitiesAreEightyTenTen) {
  const Masker masker(masking_toy(), {});
  double hidden = 0;
  double kept = 0;
  double all = 0;
  for (int64_t item = 0; item < 5000; ++item) {
    const Example after = masked(masker, sequence(100, 3), 0, item);
    for (std::size_t i = 0; i < after.targets.size(); ++i) {
      const int64_t id = after.ids[static_cast<std::size_t>(after.target_positions[i])];
      hidden += id == kMaskingMask ? 1 : 0;
      kept += id == after.targets[i] ? 1 : 0;
      all += 1;
    }
  }
  EXPECT_EQ(all, 5000 * 15);
  EXPECT_NEAR(hidden / all, 0.8, 0.006);   // 4 standard deviations
  EXPECT_NEAR(kept / all, 0.101, 0.0045);  // a random word is the old one in 1 of 100
}

TEST(Masker, ChoosesPositionsAndWordsUniformly) {
  const Masker masker(masking_toy(), {.mask_token_prob = 0.0, .random_token_prob = 1.0});
  const int64_t sequences = 20000;
  std::map<int64_t, double> positions;
  std::map<int64_t, double> words;
  for (int64_t item = 0; item < sequences; ++item) {
    const Example after = masked(masker, sequence(20), 0, item);
    for (const int64_t position : after.target_positions) {
      ++positions[position];
      ++words[after.ids[static_cast<std::size_t>(position)]];
    }
  }
  double chi_places = 0;
  for (int64_t position = 1; position <= 20; ++position) {
    const double expected = 0.15 * static_cast<double>(sequences);
    chi_places += std::pow(positions[position] - expected, 2) / expected;
  }
  double chi_words = 0;
  for (int64_t id = 5; id < kSize; ++id) {
    const double expected = 0.15 * 20 * static_cast<double>(sequences) / (kSize - 5);
    chi_words += std::pow(words[id] - expected, 2) / expected;
  }
  EXPECT_LT(chi_places, 44);  // 19 degrees of freedom, p = 0.001
  EXPECT_LT(chi_words, 149);  // 99 degrees of freedom
  EXPECT_GT(chi_places, 4);
  EXPECT_GT(chi_words, 60);
}

TEST(Masker, IsAFunctionOfSeedEpochAndItemAlone) {
  const Masker masker(masking_toy(), {});
  const Example base = masked(masker, sequence(60), 3, 8);
  EXPECT_EQ(masked(Masker(masking_toy(), {}), sequence(60), 3, 8).ids, base.ids);
  EXPECT_NE(masked(masker, sequence(60), 4, 8).target_positions, base.target_positions);
  EXPECT_NE(masked(masker, sequence(60), 3, 9).target_positions, base.target_positions);
  EXPECT_NE(masked(masker, sequence(60), 3, 8, 2).target_positions, base.target_positions);
}

TEST(Masker, StaticMasksStayOverEpochs) {
  const Masker masker(masking_toy(), {.is_static = true});
  const Example first = masked(masker, sequence(60), 0, 8);
  const Example later = masked(masker, sequence(60), 9, 8);
  EXPECT_EQ(first.ids, later.ids);
  EXPECT_EQ(first.target_positions, later.target_positions);
  EXPECT_NE(masked(masker, sequence(60), 0, 7).target_positions, first.target_positions);
}

TEST(Masker, MasksOfTwoEpochsAreIndependent) {
  const Masker masker(masking_toy(), {});
  double both = 0;
  for (int64_t item = 0; item < 4000; ++item) {
    const Example one = masked(masker, sequence(100), 0, item);
    const Example two = masked(masker, sequence(100), 1, item);
    const std::set<int64_t> chosen(one.target_positions.begin(), one.target_positions.end());
    for (const int64_t position : two.target_positions) {
      both += chosen.contains(position) ? 1 : 0;
    }
  }
  EXPECT_NEAR(both / 4000, 2.25, 0.1);  // 15 * 0.15
}

TEST(Masker, MasksWholeWords) {
  const PiecesTokenizer tokenizer;
  const Masker masker(tokenizer, {.unit = MaskUnit::kWord});
  double chosen = 0;
  double candidates = 0;
  for (int64_t item = 0; item < 3000; ++item) {
    const Example before = sequence(60, static_cast<uint64_t>(item));
    const Example after = masked(masker, before, 0, item);
    const std::set<int64_t> positions(after.target_positions.begin(), after.target_positions.end());
    for (std::size_t i = 2; i + 1 < before.ids.size(); ++i) {
      if (tokenizer.continues_word(static_cast<int32_t>(before.ids[i]))) {
        const auto position = static_cast<int64_t>(i);
        EXPECT_EQ(positions.contains(position), positions.contains(position - 1));
      }
    }
    EXPECT_LE(after.targets.size(), 9U);
    EXPECT_GE(after.targets.size(), 1U);
    chosen += static_cast<double>(after.targets.size());
    candidates += 60;
  }
  EXPECT_NEAR(chosen / candidates, 0.15, 0.002);
}

TEST(Masker, TakesOneWholeWordWhereNoneFits) {
  const PiecesTokenizer tokenizer;
  const Masker masker(tokenizer, {.unit = MaskUnit::kWord});
  Example example;
  example.ids = {2, 7, 6, 9, 12, 3};  // one word of four pieces
  masker.mask(example, 1, 0, 0);
  EXPECT_EQ(example.target_positions, (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST(Masker, WordsEndAtSpecialTokens) {
  const PiecesTokenizer tokenizer;
  const Masker masker(tokenizer, {.fraction = 0.1, .unit = MaskUnit::kWord});
  for (int64_t item = 0; item < 100; ++item) {
    Example example;
    example.ids = {2, 7, 3, 9, 12, 3};  // pieces right after [SEP] are a word of their own
    masker.mask(example, 1, 0, item);
    EXPECT_TRUE(example.target_positions == std::vector<int64_t>{1}) << item;
  }
}

TEST(Masker, SpanLengthsAreGeometricAndReplacedAsOne) {
  // A small fraction of long sequences, so that the budget rarely truncates a span.
  const Masker masker(masking_toy(), {.fraction = 0.05, .unit = MaskUnit::kSpan});
  std::map<int64_t, double> first_lengths;
  double hidden = 0;
  double runs = 0;
  for (int64_t item = 0; item < 4000; ++item) {
    const Example after = masked(masker, sequence(1000, 5), 0, item);
    EXPECT_EQ(after.targets.size(), 50U);
    std::size_t begin = 0;
    while (begin < after.targets.size()) {
      std::size_t end = begin + 1;
      while (end < after.targets.size() &&
             after.target_positions[end] == after.target_positions[end - 1] + 1) {
        ++end;
      }
      int64_t masks = 0;
      for (std::size_t i = begin; i < end; ++i) {
        masks +=
            after.ids[static_cast<std::size_t>(after.target_positions[i])] == kMaskingMask ? 1 : 0;
      }
      runs += 1;
      hidden += masks > 0 ? 1 : 0;
      ++first_lengths[static_cast<int64_t>(end - begin)];
      begin = end;
    }
  }
  double mean = 0;
  for (const auto& [length, count] : first_lengths) {
    mean += static_cast<double>(length) * count / runs;
  }
  // 3.8 words; neighbouring spans that touch are seen as one, the last one of a sequence is cut
  // short.
  EXPECT_NEAR(mean, 3.8, 0.25);
  EXPECT_NEAR(first_lengths[1] / runs, 0.2 / (1 - std::pow(0.8, 10)), 0.025);
  EXPECT_NEAR(hidden / runs, 0.8, 0.03);
}

TEST(Masker, SpansAreMostlyMaskedWholeOrNotAtAll) {
  const Masker masker(masking_toy(), {.fraction = 0.01,
                                      .mask_token_prob = 0.5,
                                      .random_token_prob = 0.0,
                                      .unit = MaskUnit::kSpan});
  int64_t mixed = 0;
  int64_t several = 0;
  for (int64_t item = 0; item < 1000; ++item) {
    const Example after = masked(masker, sequence(500, 5), 0, item);
    for (std::size_t i = 1; i < after.targets.size(); ++i) {
      if (after.target_positions[i] == after.target_positions[i - 1] + 1) {
        const auto at = [&](std::size_t k) {
          return after.ids[static_cast<std::size_t>(after.target_positions[k])] == kMaskingMask;
        };
        ++several;
        mixed += at(i) != at(i - 1) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(several, 2000);
  EXPECT_LT(mixed, several / 100);  // only if two spans happen to touch
}

TEST(Masker, SpansAreWholeWordsAndStayWithinATextOfThePair) {
  const PiecesTokenizer tokenizer;
  const Masker masker(tokenizer, {.fraction = 0.4, .unit = MaskUnit::kSpan});
  for (int64_t item = 0; item < 2000; ++item) {
    Example before = sequence(30, static_cast<uint64_t>(item));
    before.ids[14] = 3;
    const Example after = masked(masker, before, 0, item);
    const std::set<int64_t> positions(after.target_positions.begin(), after.target_positions.end());
    EXPECT_FALSE(positions.contains(14));
    EXPECT_LE(positions.size(), 12U);
    for (std::size_t i = 2; i + 1 < before.ids.size(); ++i) {
      if (i != 14 && i != 15 && tokenizer.continues_word(static_cast<int32_t>(before.ids[i]))) {
        const auto position = static_cast<int64_t>(i);
        EXPECT_EQ(positions.contains(position), positions.contains(position - 1));
      }
    }
  }
}

class NoMaskTokenizer : public test::ToyTokenizer {
 public:
  NoMaskTokenizer() : ToyTokenizer({"a"}) {}
  SpecialTokenIds special_token_ids() const override { return {.cls = 2, .sep = 3}; }
};

TEST(Masker, RefusesWhatCannotBeMasked) {
  EXPECT_THROW(Masker(NoMaskTokenizer(), {}), Error);
  EXPECT_THROW(Masker(test::ToyTokenizer({}), {}), Error);
  EXPECT_THROW(Masker(masking_toy(), {.unit = MaskUnit::kSpan, .mean_span = 5.6}), Error);
  EXPECT_THROW(Masker(masking_toy(), {.unit = MaskUnit::kSpan, .mean_span = 0.5}), Error);
  EXPECT_NO_THROW(Masker(masking_toy(), {.unit = MaskUnit::kSpan, .mean_span = 1.0}));
}

}  // namespace
}  // namespace weft::data
