#include "data/datasets/corruption.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "data/datasets/corruption_dataset.h"
#include "data/datasets/span_corruption.h"
#include "data/error.h"
#include "data/fake_store.h"
#include "support/config.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kNoiseMask = 4;
constexpr int64_t kEnd = 3;
constexpr int64_t kSentinel = 5;  // <extra_id_0>; the following go up to 104
constexpr int64_t kFirst = 105;   // of plain ids

/// [SEP] is the end; sentinels are the ids from 5 on.
class NoiseTokenizer : public test::ToyTokenizer {
 public:
  explicit NoiseTokenizer(int64_t sentinels = 100) : ToyTokenizer(names(sentinels), 100000) {}
  SpecialTokenIds special_token_ids() const override {
    return {.pad = 0, .unk = 1, .eos = 3, .cls = 2, .sep = 3, .mask = 4};
  }

 private:
  static std::vector<std::string> names(int64_t sentinels) {
    std::vector<std::string> result;
    for (int64_t i = 0; i < sentinels; ++i) {
      result.push_back("<extra_id_" + std::to_string(i) + ">");
    }
    return result;
  }
};

/// Plain ids that count up, in one sentence.
CleanText clean_text(int64_t tokens) {
  CleanText text{.ids = Ids(static_cast<std::size_t>(tokens)), .sentence_ends = {tokens}};
  std::iota(text.ids.begin(), text.ids.end(), kFirst);
  return text;
}

Random chance(int64_t item) {
  return {1, RandomPurpose::kCorruption, 0, static_cast<uint64_t>(item)};
}

bool is_sentinel(int64_t id) { return id >= kSentinel && id < kFirst; }

/// The original text of a T5 example; fails if sentinels are out of order.
Ids restored(const Example& example) {
  std::map<int64_t, Ids> spans;
  int64_t next = kSentinel;
  for (std::size_t i = 0; i + 1 < example.targets.size(); ++i) {
    const int64_t id = example.targets[i];
    if (is_sentinel(id)) {
      EXPECT_EQ(id, next++);
      spans[id] = {};
    } else {
      spans[next - 1].push_back(id);
    }
  }
  Ids whole;
  next = kSentinel;
  for (std::size_t i = 0; i + 1 < example.source_ids.size(); ++i) {
    const int64_t id = example.source_ids[i];
    if (is_sentinel(id)) {
      EXPECT_EQ(id, next++);
      whole.insert(whole.end(), spans.at(id).begin(), spans.at(id).end());
    } else {
      whole.push_back(id);
    }
  }
  EXPECT_EQ(example.source_ids.back(), kEnd);
  EXPECT_EQ(example.targets.back(), kEnd);
  return whole;
}

TEST(SpanCorruption, CountsAreThoseOfTheOriginal) {
  // random_spans_noise_mask and random_spans_helper of text-to-text-transfer-transformer.
  EXPECT_EQ(span_counts(568, {}).noise_tokens, 85);
  EXPECT_EQ(span_counts(568, {}).spans, 28);
  EXPECT_EQ(span_counts(10, {}).noise_tokens, 2);  // 1.5 goes to the even number
  EXPECT_EQ(span_counts(30, {}).noise_tokens, 4);  // 4.5 too
  EXPECT_EQ(span_counts(2, {}).noise_tokens, 1);
  EXPECT_EQ(span_counts(1, {}).spans, 0);
  const auto noise = make_span_corruption(NoiseTokenizer(), {}, 0, 512);
  EXPECT_EQ(noise->max_tokens(512), 568);
  EXPECT_EQ(noise->length(568, chance(0)), 512 + 114);
}

TEST(SpanCorruption, PartsAreEveryDivisionAlike) {
  std::map<Ids, int> seen;
  for (int64_t item = 0; item < 30000; ++item) {
    auto random = chance(item);
    ++seen[random_segmentation(6, 3, random)];
  }
  EXPECT_EQ(seen.size(), 10U);  // 5 over 2
  for (const auto& [parts, count] : seen) {
    EXPECT_NEAR(count, 3000, 5 * std::sqrt(3000));
  }
}

TEST(SpanCorruption, HundredThousandExamplesHaveThePapersStatistics) {
  const auto noise = make_span_corruption(NoiseTokenizer(), {}, 0, 512);
  double hidden = 0;
  double spans = 0;
  double tokens = 0;
  std::map<int64_t, int64_t> lengths;
  std::map<int64_t, int64_t> begins;
  for (int64_t item = 0; item < 100000; ++item) {
    const int64_t count = 2 + item % 120;
    const auto text = clean_text(count);
    const Example example = noise->make(text, chance(item));
    ASSERT_EQ(restored(example), text.ids);
    ASSERT_EQ(static_cast<int64_t>(example.source_ids.size() + example.ids.size()),
              noise->length(count, chance(item)));
    ASSERT_EQ(example.ids.front(), 0);
    ASSERT_TRUE(std::equal(example.ids.begin() + 1, example.ids.end(), example.targets.begin()));
    ASSERT_FALSE(is_sentinel(example.source_ids.front()));  // a kept part comes first
    ASSERT_TRUE(is_sentinel(example.source_ids[example.source_ids.size() - 2]));
    if (count < 100) {
      continue;
    }
    tokens += static_cast<double>(count);
    int64_t length = 0;
    for (std::size_t i = 1; i < example.targets.size(); ++i) {
      const bool is_border = is_sentinel(example.targets[i]) || i + 1 == example.targets.size();
      if (is_border) {
        ++lengths[length];
        spans += 1;
        length = 0;
      } else {
        hidden += 1;
        ++length;
      }
    }
    if (count == 100) {
      for (std::size_t i = 0; i < example.source_ids.size(); ++i) {
        if (is_sentinel(example.source_ids[i])) {
          ++begins[static_cast<int64_t>(i)];
          break;
        }
      }
    }
  }
  EXPECT_NEAR(hidden / tokens, 0.15, 0.002);
  EXPECT_NEAR(hidden / spans, 3.0, 0.1);
  EXPECT_FALSE(lengths.contains(0));
  // 15 hidden tokens in 5 spans: the first is 1 long with 13 over 3 of 14 over 4, about 0.29.
  EXPECT_NEAR(static_cast<double>(lengths[1]) / spans, 0.29, 0.02);
  EXPECT_GT(lengths[8], 0);
  EXPECT_GT(begins.size(), 30U);  // the first span may begin nearly anywhere
}

TEST(SpanCorruption, NeedsSentinelsEnough) {
  EXPECT_EQ(test::message_of<Error>([] { make_span_corruption(NoiseTokenizer(0), {}, 0, 100); }),
            "tokenizer: it has no sentinel tokens <extra_id_0>, <extra_id_1>, ..., which span "
            "corruption requires");
  EXPECT_EQ(
      test::message_of<Error>([] { make_span_corruption(NoiseTokenizer(9), {}, 0, 512); }),
      "data.length: 512 tokens give 28 corrupted spans, but the tokenizer has only 9 sentinels");
}

DenoisingOptions none() { return {.permute_sentences = 0, .rotate = 0, .infilling_fraction = 0}; }

TEST(Denoising, HundredThousandInfillingsHaveThePapersStatistics) {
  auto options = none();
  options.infilling_fraction = 0.3;
  const auto noise = make_denoising(NoiseTokenizer(), options, 2);
  double hidden = 0;
  double tokens = 0;
  double masks = 0;
  std::map<int64_t, double> lengths;
  for (int64_t item = 0; item < 100000; ++item) {
    const int64_t count = 1 + item % 100;
    const auto text = clean_text(count);
    const Example example = noise->make(text, chance(item));
    ASSERT_EQ(example.source_ids.front(), 2);
    ASSERT_EQ(example.source_ids.back(), kEnd);
    ASSERT_EQ(static_cast<int64_t>(example.targets.size()), count + 2);
    ASSERT_LE(example.source_ids.size(), example.targets.size());
    ASSERT_EQ(static_cast<int64_t>(example.source_ids.size() + example.ids.size()),
              noise->length(count, chance(item)));
    int64_t position = kFirst;
    int64_t gone = 0;
    bool was_mask = false;
    for (std::size_t i = 1; i < example.source_ids.size(); ++i) {
      const int64_t id = example.source_ids[i];
      const bool is_last = i + 1 == example.source_ids.size();
      const bool is_mask = id == kNoiseMask;
      ASSERT_FALSE(is_mask && was_mask);
      if (was_mask) {
        const int64_t length = (is_last ? kFirst + count : id) - position;
        ASSERT_GE(length, 0);
        lengths[length] += count > 60 ? 1 : 0;
        gone += length;
        position += length;
      }
      if (!is_mask && !is_last) {
        ASSERT_EQ(id, position);
        ++position;
      }
      masks += is_mask && count > 60 ? 1 : 0;
      was_mask = is_mask;
    }
    ASSERT_EQ(gone, std::llround(0.3 * static_cast<double>(count)));
    if (count > 60) {
      tokens += static_cast<double>(count);
      hidden += static_cast<double>(gone);
    }
  }
  EXPECT_NEAR(hidden / tokens, 0.3, 0.005);
  EXPECT_NEAR(hidden / masks, 3.0, 0.2);  // the last span of a text may be cut short
  // Poisson(3): none 0.0498, 1 0.149, 2 and 3 0.224 each, 6 0.0504.
  EXPECT_NEAR(lengths[0] / masks, 0.05, 0.01);
  EXPECT_NEAR(lengths[2] / masks, 0.224, 0.03);
  EXPECT_NEAR(lengths[3] / masks, 0.224, 0.03);
  EXPECT_NEAR(lengths[6] / masks, 0.05, 0.015);
}

TEST(Denoising, SentencesArePermutedWhole) {
  auto options = none();
  options.permute_sentences = 1;
  const auto noise = make_denoising(NoiseTokenizer(), options, 2);
  auto text = clean_text(6);
  text.sentence_ends = {1, 3, 6};
  std::map<Ids, int> seen;
  for (int64_t item = 0; item < 6000; ++item) {
    const Example example = noise->make(text, chance(item));
    ++seen[example.source_ids];
    EXPECT_EQ(example.targets, (Ids{2, 105, 106, 107, 108, 109, 110, 3}));
    EXPECT_EQ(example.ids, (Ids{2, 2, 105, 106, 107, 108, 109, 110}));
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_TRUE(seen.contains({2, 108, 109, 110, 105, 106, 107, 3}));
  for (const auto& [ids, count] : seen) {
    EXPECT_NEAR(count, 1000, 150);
  }
}

TEST(Denoising, RotationKeepsTheOrderInTheRound) {
  auto options = none();
  options.rotate = 1;
  const auto noise = make_denoising(NoiseTokenizer(), options, 2);
  std::map<int64_t, int> firsts;
  for (int64_t item = 0; item < 5000; ++item) {
    Ids ids = noise->make(clean_text(5), chance(item)).source_ids;
    ++firsts[ids[1]];
    for (std::size_t i = 2; i < 6; ++i) {
      EXPECT_EQ(ids[i], ids[i - 1] == 109 ? 105 : ids[i - 1] + 1);
    }
  }
  EXPECT_EQ(firsts.size(), 5U);
  EXPECT_NEAR(firsts[107], 1000, 150);
}

TEST(Denoising, DeletesAndMasksTheGivenFractions) {
  auto options = none();
  options.delete_fraction = 0.2;
  options.mask_fraction = 0.25;
  const auto noise = make_denoising(NoiseTokenizer(), options, 2);
  const Example example = noise->make(clean_text(50), chance(3));
  EXPECT_EQ(example.source_ids.size(), 42U);
  EXPECT_EQ(std::count(example.source_ids.begin(), example.source_ids.end(), kNoiseMask), 10);
  EXPECT_EQ(noise->length(50, chance(3)), 42 + 52);
  EXPECT_NE(noise->make(clean_text(50), chance(4)).source_ids, example.source_ids);
}

TEST(PrefixSplit, BothSidesMakeUpTheText) {
  const auto noise = make_prefix_split(NoiseTokenizer(), 0);
  std::map<std::size_t, int> cuts;
  for (int64_t item = 0; item < 4000; ++item) {
    const Example example = noise->make(clean_text(5), chance(item));
    Ids whole(example.source_ids.begin() + 1, example.source_ids.end() - 1);
    ++cuts[whole.size()];
    whole.insert(whole.end(), example.targets.begin() + 1, example.targets.end() - 1);
    EXPECT_EQ(whole, clean_text(5).ids);
  }
  EXPECT_EQ(cuts.size(), 4U);
  EXPECT_NEAR(cuts[1], 1000, 150);
}

TEST(CorruptedDataset, NoiseIsAFunctionOfEpochAndItem) {
  const auto make = [](uint64_t seed) {
    return CorruptedDataset({test::source(test::counted_documents(100, 5, 12), 2.0)}, {},
                            {.length = 20, .has_token_type_ids = false, .seed = seed},
                            NoiseTokenizer(), make_denoising(NoiseTokenizer(), {}, 2));
  };
  const auto dataset = make(1);
  const auto again = make(1);
  EXPECT_EQ(dataset.fingerprint(), again.fingerprint());
  int different = 0;
  for (int64_t item = dataset.size(0); item-- > 0;) {
    const Example example = dataset.example(3, item);
    EXPECT_EQ(again.example(3, item).source_ids, example.source_ids);
    EXPECT_EQ(dataset.length(3, item),
              static_cast<int64_t>(example.source_ids.size() + example.ids.size()));
    EXPECT_LE(example.source_ids.size(), 20U);
    EXPECT_LE(example.ids.size(), 20U);
    different += dataset.example(4, item).source_ids == example.source_ids ? 0 : 1;
  }
  EXPECT_GT(different, dataset.size(0) / 2);
  EXPECT_NE(make(2).example(3, 0).source_ids, dataset.example(3, 0).source_ids);
}

TEST(CorruptedDataset, FindsTheSentencesOfASpan) {
  const CorruptedDataset dataset(
      {test::source({{{105, 106}, {107}}, {{108, 109, 110}, {111}}})}, {},
      {.length = 100, .has_token_type_ids = false}, NoiseTokenizer(),
      make_denoising(NoiseTokenizer(), {.permute_sentences = 1, .infilling_fraction = 0}, 2));
  std::set<Ids> seen;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    seen.insert(dataset.example(epoch, 1).source_ids);
  }
  EXPECT_EQ(seen, (std::set<Ids>{{2, 108, 109, 110, 111, 3}, {2, 111, 108, 109, 110, 3}}));
}

}  // namespace
}  // namespace weft::data
