#include "base/random.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedResults) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsAFunctionOfItsFourKeys) {
  const auto first = [](uint64_t seed, RandomPurpose purpose, uint64_t time, uint64_t item) {
    return Random(seed, purpose, time, item).bits64();
  };
  const uint64_t here = first(1, RandomPurpose::kMask, 2, 3);
  EXPECT_EQ(here, first(1, RandomPurpose::kMask, 2, 3));
  EXPECT_NE(here, first(2, RandomPurpose::kMask, 2, 3));
  EXPECT_NE(here, first(1, RandomPurpose::kShuffle, 2, 3));
  EXPECT_NE(here, first(1, RandomPurpose::kMask, 3, 3));
  EXPECT_NE(here, first(1, RandomPurpose::kMask, 2, 4));
  EXPECT_NE(here, first(1, RandomPurpose::kMask, 2 + (uint64_t{1} << 32), 3));
  EXPECT_NE(here, first(1, RandomPurpose::kMask, 2, 3 + (uint64_t{1} << 32)));
}

// Runs are reproducible only as long as these do not change.
TEST(Random, KeepsItsFirstDraws) {
  Random random(17, RandomPurpose::kMask, 3, 5);
  EXPECT_EQ(random.bits(), 0xDC281D7EU);
  EXPECT_EQ(random.bits(), 0xED55A9CCU);
  const Permutation order(10, 17, RandomPurpose::kShuffle, 3);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 10; ++i) {
    indices.push_back(order(i));
  }
  EXPECT_EQ(indices, (std::vector<int64_t>{2, 1, 0, 6, 4, 5, 3, 9, 7, 8}));
}

TEST(Random, CopiesItsPlaceInTheStream) {
  Random random(1, RandomPurpose::kSample, 0, 0);
  random.bits();
  Random copy = random;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(random.bits(), copy.bits());
  }
}

TEST(Random, DrawsEvenlyBelowABound) {
  Random random(1, RandomPurpose::kSample, 0, 0);
  constexpr int kDraws = 70000;
  std::array<int, 7> counts{};
  for (int i = 0; i < kDraws; ++i) {
    ++counts.at(random.uniform_int(7));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, kDraws / 7, 400);  // 4 standard deviations
  }
  EXPECT_EQ(random.uniform_int(1), 0U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(random.uniform_int((uint64_t{1} << 63) + 1), (uint64_t{1} << 63) + 1);
  }
}

TEST(Random, HasTheMomentsOfItsDistributions) {
  Random random(2, RandomPurpose::kInitialize, 0, 0);
  constexpr int kDraws = 200000;
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float uniform = random.uniform();
    ASSERT_GE(uniform, 0.0F);
    ASSERT_LT(uniform, 1.0F);
    sum += static_cast<double>(uniform);
    const double normal = random.normal();
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.003);
  EXPECT_NEAR(normal_sum / kDraws, 0.0, 0.01);
  EXPECT_NEAR(normal_squares / kDraws, 1.0, 0.015);
}

void expect_bijective(int64_t size, uint64_t time) {
  const Permutation order(size, 3, RandomPurpose::kShuffle, time);
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    const int64_t index = order(i);
    ASSERT_GE(index, 0);
    ASSERT_LT(index, size);
    ASSERT_FALSE(seen[static_cast<std::size_t>(index)]) << "size " << size;
    seen[static_cast<std::size_t>(index)] = true;
  }
}

TEST(Permutation, IsABijectionForEverySize) {
  for (int64_t size = 0; size <= 200; ++size) {
    expect_bijective(size, 0);
    expect_bijective(size, 1);
  }
  for (const int64_t size : {255, 256, 257, 65537, 300007}) {
    expect_bijective(size, 7);
  }
}

TEST(Permutation, StaysWithinAHugeSize) {
  const int64_t size = (int64_t{1} << 40) + 12345;
  const Permutation order(size, 3, RandomPurpose::kShuffle, 0);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 10000; ++i) {
    const int64_t index = order(size - 1 - i);
    ASSERT_GE(index, 0);
    ASSERT_LT(index, size);
    seen.insert(index);
  }
  EXPECT_EQ(seen.size(), 10000U);
}

TEST(Permutation, PutsEveryItemEverywhereEquallyOften) {
  constexpr int kEpochs = 10000;
  std::map<std::pair<int64_t, int64_t>, int> counts;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation order(5, 1, RandomPurpose::kShuffle, static_cast<uint64_t>(epoch));
    for (int64_t i = 0; i < 5; ++i) {
      ++counts[{i, order(i)}];
    }
  }
  for (const auto& [place, count] : counts) {
    EXPECT_NEAR(count, kEpochs / 5, 200) << place.first << " -> " << place.second;
  }
  EXPECT_EQ(counts.size(), 25U);
}

TEST(Permutation, DiffersFromEpochToEpoch) {
  const Permutation first(1000, 1, RandomPurpose::kShuffle, 0);
  const Permutation second(1000, 1, RandomPurpose::kShuffle, 1);
  int equal = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    equal += first(i) == second(i) ? 1 : 0;
  }
  EXPECT_LT(equal, 10);
}

TEST(Mix, DistinguishesItsArguments) {
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
  EXPECT_NE(hash_combine(0, 0), 0U);
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 100; ++a) {
    for (uint64_t b = 0; b < 100; ++b) {
      seen.insert(hash_combine(a, b));
    }
  }
  EXPECT_EQ(seen.size(), 10000U);
}

}  // namespace
}  // namespace weft
