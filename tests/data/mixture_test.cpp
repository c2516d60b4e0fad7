#include "data/mixture.h"

#include <map>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

namespace weft::data {
namespace {

using Counts = std::map<std::pair<std::size_t, int64_t>, int64_t>;

Counts count(const Mixture& mixture, int64_t epoch) {
  Counts counts;
  for (int64_t item = 0; item < mixture.size(); ++item) {
    const auto entry = mixture.locate(epoch, item);
    ++counts[{entry.part, entry.index}];
  }
  return counts;
}

TEST(Mixture, RepeatsEachItemFloorTimesAndAFractionOnceMore) {
  const Mixture mixture({{10, 1.0}, {0, 3.0}, {8, 2.25}, {6, 0.5}}, 7);
  EXPECT_EQ(mixture.size(), 10 + (16 + 2) + 3);
  for (const int64_t epoch : {0, 1, 5}) {
    const Counts counts = count(mixture, epoch);
    int64_t once_more = 0;
    int64_t halves = 0;
    for (int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(counts.at({0, i}), 1);
    }
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t times = counts.at({2, i});
      EXPECT_TRUE(times == 2 || times == 3);
      once_more += times - 2;
    }
    for (int64_t i = 0; i < 6; ++i) {
      const auto found = counts.find({3, i});
      halves += found == counts.end() ? 0 : found->second;
      EXPECT_LE(found == counts.end() ? 0 : found->second, 1);
    }
    EXPECT_EQ(once_more, 2);
    EXPECT_EQ(halves, 3);
  }
}

TEST(Mixture, SamplesTheFractionAgainForEachEpochAndSeed) {
  const Mixture mixture({{1000, 0.1}}, 7);
  const Counts first = count(mixture, 0);
  EXPECT_EQ(count(mixture, 0), first);
  EXPECT_NE(count(mixture, 1), first);
  EXPECT_NE(count(Mixture({{1000, 0.1}}, 8), 0), first);
  std::set<int64_t> seen;  // over many epochs every item comes: 0.9^200 * 1000 < 1e-6
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    for (const auto& [entry, times] : count(mixture, epoch)) {
      seen.insert(entry.second);
    }
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Mixture, IdentityTellsRepetitionsApartAndStaysOverEpochs) {
  const Mixture mixture({{5, 2.6}, {4, 1.5}}, 3);
  std::map<std::pair<std::size_t, int64_t>, std::set<int64_t>> identities;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    std::set<int64_t> of_epoch;
    for (int64_t item = 0; item < mixture.size(); ++item) {
      const auto entry = mixture.locate(epoch, item);
      EXPECT_TRUE(of_epoch.insert(entry.identity).second);
      identities[{entry.part, entry.index}].insert(entry.identity);
    }
  }
  std::set<int64_t> all;
  for (const auto& [entry, found] : identities) {
    EXPECT_EQ(found.size(), entry.first == 0 ? 3U : 2U);
    for (const int64_t identity : found) {
      EXPECT_TRUE(all.insert(identity).second);
    }
  }
}

TEST(Mixture, RefusesItemsBeyondTheEpoch) {
  const Mixture mixture({{3, 1.0}}, 1);
  EXPECT_THROW(mixture.locate(0, 3), std::out_of_range);
  EXPECT_THROW(mixture.locate(0, -1), std::out_of_range);
}

}  // namespace
}  // namespace weft::data
