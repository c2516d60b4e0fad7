#include "kernels/attention/attention.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/attention/rotary.h"
#include "kernels/compare.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr RngKey kAttentionKey{
    .seed = 5, .step = 2, .site = 1, .first_row = 0, .first_sequence = 11};

class Attention : public comparison::EveryVariant {
 protected:
  void compare(const std::vector<int64_t>& lengths,
               int64_t width,
               const AttentionSettings& settings) {
    const auto layout = layout_of(lengths);
    const auto qkv = at::randn({layout.tokens(), 3 * settings.heads * width});
    comparison::expect_same(
        [&](const auto& in) { return attention(in[0], layout, settings, kAttentionKey); },
        [&](const auto& in) {
          return reference::attention(in[0], layout, settings, kAttentionKey);
        },
        {qkv}, type());
  }
};

TEST_P(Attention, EqualsPlainReference) { compare({5, 1, 64, 17, 33}, 64, {.heads = 2}); }

TEST_P(Attention, EqualsPlainReferenceWithDropout) {
  compare({5, 1, 64, 17, 130}, 32, {.heads = 3, .dropout = 0.2});
}

TEST_P(Attention, EqualsPlainReferenceCausal) {
  compare({1, 2, 50, 113}, 32, {.heads = 2, .is_causal = true});
  compare({1, 2, 50, 113}, 32, {.heads = 2, .is_causal = true, .dropout = 0.4});
}

TEST_P(Attention, SupportsAnyHeadWidthAndScale) {
  for (const int64_t width : {1, 7, 20, 80}) {
    compare({3, 19}, width, {.heads = 2, .scale = 0.3, .dropout = 0.1});
  }
}

TEST_P(Attention, LongSequencesAreTiled) {
  compare({515, 3, 1100}, 24, {.heads = 1, .dropout = 0.1});
  compare({1100}, 32, {.heads = 1, .is_causal = true, .dropout = 0.1});
}

TEST_P(Attention, EqualsPlainReferenceWithinAWindow) {
  for (const int64_t window_radius : {0, 1, 7, 16, 64, 500}) {
    compare({5, 1, 0, 64, 17, 130}, 32, {.heads = 2, .window_radius = window_radius});
    compare({50, 97}, 16, {.heads = 2, .window_radius = window_radius, .dropout = 0.3});
    compare({50, 97}, 16,
            {.heads = 1, .is_causal = true, .window_radius = window_radius, .dropout = 0.3});
  }
}

TEST_P(Attention, WindowsOfLongSequencesCrossTiles) {
  for (const int64_t window_radius : {3, 40, 700}) {
    compare({515, 3, 1100}, 32, {.heads = 1, .window_radius = window_radius, .dropout = 0.1});
    compare({1100}, 32, {.heads = 1, .is_causal = true, .window_radius = window_radius});
  }
}

TEST_P(Attention, EqualsPlainReferenceWithRotaryPositions) {
  for (const int64_t width : {2, 6, 20, 64}) {
    const auto table = rotary_table(1100, {.width = width, .theta = 100.0}, at::kCPU);
    compare({5, 1, 0, 64, 33}, width, {.heads = 2, .dropout = 0.1, .rotary = table});
    compare({600}, width, {.heads = 1, .is_causal = true, .window_radius = 40, .rotary = table});
  }
}

// Shifting all positions rotates by the same angle: only the distance of two tokens matters.
TEST_P(Attention, RotaryPositionsEncodeRelativeDistances) {
  const auto table = rotary_table(64, {.width = 16, .theta = 10.0}, at::kCPU);
  const auto later = table.slice(0, 20).contiguous();
  const auto qkv = at::randn({40, 3 * 32}).to(type());
  const auto run = [&](const at::Tensor& angles) {
    return attention(qkv, layout_of({40}), {.heads = 2, .rotary = angles}, kAttentionKey);
  };
  comparison::expect_near(run(later), run(table), comparison::tolerance_of(type()),
                          "moved by 20 places");
  EXPECT_FALSE(at::allclose(run(table), run(at::Tensor()), 1e-2, 1e-2));
}

TEST_P(Attention, EqualsPlainReferenceBehindPrefixes) {
  for (const double dropout : {0.0, 0.3}) {
    compare({1, 2, 50, 113}, 16,
            {.heads = 2, .is_causal = true, .prefix_lengths = {0, 1, 20, 113}, .dropout = dropout});
  }
  compare({515, 3, 1100}, 24,
          {.heads = 1, .is_causal = true, .prefix_lengths = {300, 9, 530}, .dropout = 0.1});
  const auto table = rotary_table(1100, {.width = 16, .theta = 100.0}, at::kCPU);
  for (const int64_t window_radius : {0, 7, 64}) {
    compare({600, 97, 0, 20}, 16,
            {.heads = 1,
             .is_causal = true,
             .prefix_lengths = {550, 33, 4, 0},
             .window_radius = window_radius,
             .rotary = table});
  }
}

TEST_P(Attention, EmptyPrefixesChangeNoBit) {
  const auto layout = layout_of({40, 7});
  const auto qkv = at::randn({47, 3 * 32}).to(type());
  const auto with = [&](const std::vector<int64_t>& prefix_lengths) {
    return attention(qkv, layout, {.heads = 2, .is_causal = true, .prefix_lengths = prefix_lengths},
                     kAttentionKey);
  };
  EXPECT_TRUE(at::equal(with({}), with({0, 0})));
  EXPECT_TRUE(at::equal(with({}), with({1, 1})));  // the first token always attends to itself
  EXPECT_FALSE(at::equal(with({}), with({2, 0})));
}

TEST_P(Attention, TokensBeyondTheWindowAreMasked) {
  const AttentionSettings settings{.heads = 2, .window_radius = 5};
  const auto layout = layout_of({40});
  const auto qkv = at::randn({40, 3 * 32}).to(type());
  auto edited = qkv.clone();
  edited.select(0, 20).add_(1.0);
  const auto before = attention(qkv, layout, settings, kAttentionKey);
  const auto after = attention(edited, layout, settings, kAttentionKey);
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(at::equal(before[i], after[i]), std::abs(i - 20) > 5) << i;
  }
}

TEST_P(Attention, LargeScoresStayFinite) {
  const auto layout = layout_of({40});
  const auto qkv = (at::randn({40, 3 * 32}) * 100.0).to(type());
  const auto out = attention(qkv, layout, {.heads = 1}, kAttentionKey);
  EXPECT_TRUE(at::isfinite(out).all().item<bool>());
}

TEST_P(Attention, EmptyBatchesAndSequencesWork) {
  compare({}, 8, {.heads = 2});
  compare({0, 4, 0}, 8, {.heads = 2, .dropout = 0.1});
}

TEST_P(Attention, SequencesDoNotAttendToEachOther) {
  const AttentionSettings settings{.heads = 2, .dropout = 0.1};
  const auto qkv = at::randn({30, 3 * 32}).to(type());
  const auto both = attention(qkv, layout_of({12, 18}), settings, kAttentionKey);
  auto second = kAttentionKey;
  second.first_sequence += 1;
  EXPECT_TRUE(at::equal(both.narrow(0, 0, 12),
                        attention(qkv.narrow(0, 0, 12), layout_of({12}), settings, kAttentionKey)));
  EXPECT_TRUE(at::equal(both.narrow(0, 12, 18),
                        attention(qkv.narrow(0, 12, 18), layout_of({18}), settings, second)));
}

TEST_P(Attention, NumberOfThreadsChangesNoBit) {
  const auto layout = layout_of({9, 70, 33, 128});
  const auto qkv = at::randn({layout.tokens(), 3 * 64});
  const auto once = [&] {
    return comparison::run(
        [&](const auto& in) {
          return attention(in[0], layout, {.heads = 4, .dropout = 0.1}, kAttentionKey);
        },
        {qkv}, type());
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

INSTANTIATE_TEST_SUITE_P(Levels, Attention, comparison::kVariants, comparison::variant_name);

// Two keys with equal scores: each value counts one half.
TEST(AttentionByHand, EqualScoresAverageTheValues) {
  const auto qkv = at::tensor({0.0F, 1.0F, 2.0F, 0.0F, 1.0F, 6.0F}).view({2, 3});
  const auto out = attention(qkv, layout_of({2}), {.heads = 1}, kAttentionKey);
  EXPECT_TRUE(at::allclose(out, at::full({2, 1}, 4.0F)));
}

// A rotation of 90 degrees per position: the query of the second token is aligned with the rotated
// first key. Against an explicit attention mask for each pair of tokens.
TEST(AttentionByHand, PrefixIsBidirectionalAndTheRestCausal) {
  at::manual_seed(4);
  const std::vector<int64_t> lengths{6, 9};
  const std::vector<int64_t> prefix_lengths{4, 2};
  const auto qkv = at::randn({15, 3 * 8});
  const auto layout = layout_of(lengths);
  const AttentionSettings settings{.heads = 1, .is_causal = true, .prefix_lengths = prefix_lengths};
  const auto found = attention(qkv, layout, settings, kAttentionKey);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const auto own = qkv.slice(0, layout.offsets[b], layout.offsets[b + 1]).chunk(3, 1);
    const auto scores = at::matmul(own[0], own[1].t()) / std::sqrt(8.0);
    for (int64_t i = 0; i < lengths[b]; ++i) {
      for (int64_t j = i + 1; j < lengths[b]; ++j) {
        if (j >= prefix_lengths[b]) {
          scores[i][j] = -INFINITY;
        }
      }
    }
    const auto wanted = at::softmax(scores, -1);
    EXPECT_TRUE(at::allclose(found.slice(0, layout.offsets[b], layout.offsets[b + 1]),
                             at::matmul(wanted, own[2]), 1e-5, 1e-6));
  }
}

TEST(AttentionByHand, QueriesAndKeysAreTurned) {
  const auto table = at::tensor({1.0F, 0.0F, 0.0F, 1.0F}).view({2, 2});  // 0 and 90 degrees
  const auto key = at::tensor({3.0F, 0.0F});
  const auto value = at::tensor({1.0F, 0.0F, 0.0F, 1.0F}).view({2, 2});
  const auto token = [&](const at::Tensor& query, int64_t i) {
    return at::cat({query, key, value[i]}).unsqueeze(0);
  };
  // (0, -3) turned by 90 degrees is (3, 0), the first key; the second, turned, is (0, 3).
  const auto qkv = at::cat({token(key, 0), token(at::tensor({0.0F, -3.0F}), 1)});
  const auto out =
      attention(qkv, layout_of({2}), {.heads = 1, .scale = 5.0, .dropout = 0, .rotary = table},
                kAttentionKey);
  EXPECT_TRUE(at::allclose(out, at::tensor({1.0F, 0.0F, 1.0F, 0.0F}).view({2, 2})));
}

TEST(AttentionByHand, GradientAgreesWithCentralDifferences) {
  const auto layout = layout_of({3, 2});
  const AttentionSettings settings{.heads = 2,
                                   .is_causal = true,
                                   .window_radius = 1,
                                   .dropout = 0.3,
                                   .rotary = rotary_table(3, {.width = 2, .theta = 7.0}, at::kCPU)};
  const auto qkv = at::randn({5, 12}, at::kDouble);
  const auto loss = [&](const at::Tensor& x) {
    const auto out = reference::attention(x, layout, settings, kAttentionKey);
    return (out * at::arange(out.numel(), at::kDouble).view_as(out).sin()).sum();
  };
  const auto leaf = qkv.clone().requires_grad_(true);
  loss(leaf).backward();
  const double step = 1e-6;
  for (int64_t i = 0; i < qkv.numel(); i += 7) {
    const auto at_offset = [&](double delta) {
      auto moved = qkv.clone();
      moved.view(-1)[i] += delta;
      return loss(moved).item<double>();
    };
    const double expected = (at_offset(step) - at_offset(-step)) / (2.0 * step);
    EXPECT_NEAR(leaf.grad().view(-1)[i].item<double>(), expected, 1e-7);
  }
}

TEST(AttentionShapes, AreChecked) {
  EXPECT_THROW(attention(at::ones({4, 7}), layout_of({4}), {.heads = 2}, kAttentionKey),
               c10::Error);
  EXPECT_THROW(attention(at::ones({4, 6}), layout_of({5}), {.heads = 2}, kAttentionKey),
               c10::Error);
  const auto short_table = rotary_table(3, {.width = 2, .theta = 7.0}, at::kCPU);
  EXPECT_THROW(attention(at::ones({4, 6}), layout_of({4}), {.heads = 1, .rotary = short_table},
                         kAttentionKey),
               c10::Error);
  EXPECT_THROW(rotary_table(3, {.width = 3, .theta = 7.0}, at::kCPU), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
