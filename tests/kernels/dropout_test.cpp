#include "kernels/dropout.h"

#include <array>
#include <vector>

#include "kernels/attention/attention_dropout.h"
#include "kernels/compare.h"
#include "kernels/norm.h"
#include "kernels/random_bits.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

constexpr RngKey kDropoutKey{.seed = 7, .step = 3, .site = 2, .first_row = 5};

class Dropout : public comparison::EveryVariant {};

TEST_P(Dropout, EqualsPlainReference) {
  for (const auto& [rows, columns] :
       std::vector<std::array<int64_t, 2>>{{0, 5}, {1, 1}, {3, 17}, {5, 64}, {9, 129}, {2, 1000}}) {
    const auto x = at::randn({rows, columns});
    comparison::expect_same(
        [](const auto& in) { return dropout(in[0], 0.3, kDropoutKey); },
        [](const auto& in) { return reference::dropout(in[0], 0.3, kDropoutKey); }, {x}, type());
    comparison::expect_same(
        [](const auto& in) { return add_dropout(in[0], in[1], 0.3, kDropoutKey); },
        [](const auto& in) { return reference::add_dropout(in[0], in[1], 0.3, kDropoutKey); },
        {x, at::randn({rows, columns})}, type());
  }
}

TEST_P(Dropout, OfAttentionWeightsEqualsPlainReference) {
  for (const auto& [queries, keys] :
       std::vector<std::array<int64_t, 2>>{{1, 1}, {3, 17}, {16, 16}, {9, 129}, {40, 200}}) {
    const WeightShape shape{
        .sequences = {4, 0, 9}, .numbers = {0, 2, 1}, .heads = 3, .queries = queries, .keys = keys};
    const RngKey key{.seed = 7, .step = 3, .site = 2, .first_sequence = 6};
    for (const int64_t sequences : {3, 1}) {  // 1: weights that all sequences share
      comparison::expect_same(
          [&](const auto& in) { return attention_dropout(in[0], shape, 0.3, key); },
          [&](const auto& in) {
            return in[0] * attention_dropout_mask(shape, 0.3, key, in[0].device());
          },
          {at::randn({sequences, 3, queries, keys})}, type());
    }
  }
}

TEST_P(Dropout, SplittingDrawsTheSameBits) {
  const auto x = at::ones({11, 40}, type());
  const auto whole = dropout(x, 0.5, kDropoutKey);
  auto later = kDropoutKey;
  later.first_row += 4;
  const auto pieces = at::cat(
      {dropout(x.narrow(0, 0, 4), 0.5, kDropoutKey), dropout(x.narrow(0, 4, 7), 0.5, later)});
  EXPECT_TRUE(at::equal(whole, pieces));
}

TEST_P(Dropout, KeepsTheRightShareAndTheMean) {
  const auto x = at::ones({512, 512}, type());
  const auto y = dropout(x, 0.1, kDropoutKey).to(at::kDouble);
  EXPECT_NEAR(at::ne(y, 0.0).to(at::kDouble).mean().item<double>(), 0.9, 0.003);
  EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.006);
}

TEST_P(Dropout, OtherSiteStepOrSeedDrawsOtherBits) {
  const auto x = at::ones({4, 64}, type());
  const auto first = dropout(x, 0.5, kDropoutKey);
  for (const auto& other : {RngKey{.seed = 8, .step = 3, .site = 2, .first_row = 5},
                            RngKey{.seed = 7, .step = 4, .site = 2, .first_row = 5},
                            RngKey{.seed = 7, .step = 3, .site = 3, .first_row = 5},
                            RngKey{.seed = 7, .step = 3, .site = 2, .first_row = 6}}) {
    EXPECT_FALSE(at::equal(first, dropout(x, 0.5, other)));
  }
}

TEST_P(Dropout, ZeroProbabilityReturnsTheInput) {
  const auto x = at::randn({3, 4}).to(type());
  EXPECT_TRUE(dropout(x, 0.0, kDropoutKey).is_same(x));
}

INSTANTIATE_TEST_SUITE_P(Levels, Dropout, comparison::kVariants, comparison::variant_name);

// The generator of base/ has 10 rounds, so its 7 are written out here.
TEST(DropoutDraws, FollowPhilox) {
  const auto rule = dropout_rule(0.5, kDropoutKey);
  const auto none = at::zeros({1, 1}, at::kLong);
  const auto draws = reference::philox_bits(rule, 3, 1, none, none);  // (128)
  std::array<uint32_t, 4> counter{3 * 16 + 5, 0, 0, 0};               // lane 5 of tile 3
  std::array<uint32_t, 2> key{rule.key[0], rule.key[1]};
  for (int round = 0; round < kDropoutRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  for (int64_t group = 0; group < 8; ++group) {
    const uint32_t word = counter[group / 2];
    EXPECT_EQ(draws[group * 16 + 5].item<int64_t>(),
              group % 2 == 0 ? (word & 0xFFFFU) : word >> 16U);
  }
}

TEST(DropoutDraws, ScaleBelongsToTheRoundedProbability) {
  const auto rule = dropout_rule(0.1, kDropoutKey);
  EXPECT_EQ(rule.threshold, 6554U);  // 0.1 * 65536 = 6553.6
  EXPECT_FLOAT_EQ(rule.scale, 65536.0F / (65536.0F - 6554.0F));
  EXPECT_THROW(dropout_rule(1.0, kDropoutKey), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
