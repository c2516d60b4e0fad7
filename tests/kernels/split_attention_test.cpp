#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/rotary.h"
#include "kernels/compare.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr RngKey kSplitAttentionKey{
    .seed = 5, .step = 2, .site = 1, .first_row = 0, .first_sequence = 11};

/// Attention with separate query, key and value tensors, grouped heads and position bias.
class SplitAttention : public comparison::EveryVariant {
 protected:
  void compare(const std::vector<int64_t>& query_lengths,
               const std::vector<int64_t>& key_lengths,
               int64_t width,
               AttentionSettings settings,
               int64_t span = 0) {
    const auto queries = layout_of(query_lengths);
    const auto keys = layout_of(key_lengths);
    const int64_t groups = settings.key_heads_or_heads();
    std::vector<at::Tensor> inputs{at::randn({queries.tokens(), settings.heads * width}),
                                   at::randn({keys.tokens(), groups * width}),
                                   at::randn({keys.tokens(), groups * width})};
    if (span > 0) {
      inputs.push_back(at::randn({settings.heads, 2 * span - 1}));
    }
    const auto given = [&](const std::vector<at::Tensor>& in) {
      auto result = settings;
      result.distance_bias = in.size() > 3 ? in[3].to(at::kFloat) : at::Tensor();
      return result;
    };
    comparison::expect_same(
        [&](const auto& in) {
          return attention({.query = in[0], .key = in[1], .value = in[2]}, queries, keys, given(in),
                           kSplitAttentionKey);
        },
        [&](const auto& in) {
          return reference::attention({.query = in[0], .key = in[1], .value = in[2]}, queries, keys,
                                      given(in), kSplitAttentionKey);
        },
        inputs, type());
    if (span == 0) {
      compare_sides(inputs, queries, keys, settings);
    }
  }

  /// Values after the keys of the same tensor change no bit.
  void compare_sides(const std::vector<at::Tensor>& inputs,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings) {
    const auto apart = comparison::run(
        [&](const auto& in) {
          return attention({.query = in[0], .key = in[1], .value = in[2]}, queries, keys, settings,
                           kSplitAttentionKey);
        },
        inputs, type());
    const auto together = comparison::run(
        [&](const auto& in) {
          return attention({.query = in[0], .key = at::cat({in[1], in[2]}, 1)}, queries, keys,
                           settings, kSplitAttentionKey);
        },
        inputs, type());
    EXPECT_TRUE(comparison::same_bits(apart, together));
  }

  void compare_fused(const std::vector<int64_t>& lengths,
                     int64_t width,
                     const AttentionSettings& settings,
                     int64_t span = 0) {
    const auto layout = layout_of(lengths);
    const int64_t groups = settings.key_heads_or_heads();
    std::vector<at::Tensor> inputs{
        at::randn({layout.tokens(), (settings.heads + 2 * groups) * width})};
    if (span > 0) {
      inputs.push_back(at::randn({settings.heads, 2 * span - 1}));
    }
    const auto given = [&](const std::vector<at::Tensor>& in) {
      auto result = settings;
      result.distance_bias = in.size() > 1 ? in[1].to(at::kFloat) : at::Tensor();
      return result;
    };
    comparison::expect_same(
        [&](const auto& in) { return attention(in[0], layout, given(in), kSplitAttentionKey); },
        [&](const auto& in) {
          return reference::attention(in[0], layout, given(in), kSplitAttentionKey);
        },
        inputs, type());
  }
};

TEST_P(SplitAttention, EqualsPlainReferenceAcrossSequences) {
  compare({5, 1, 33, 70}, {17, 64, 3, 90}, 32, {.heads = 2});
  compare({5, 1, 33, 70}, {17, 64, 3, 90}, 32, {.heads = 2, .dropout = 0.3});
  compare({60, 3}, {700, 1}, 24, {.heads = 1, .scale = 1, .dropout = 0.1});
}

TEST_P(SplitAttention, AnEmptySourceGivesZeros) { compare({3, 2, 0}, {0, 4, 2}, 32, {.heads = 2}); }

TEST_P(SplitAttention, CausalQueriesEndWithTheKeys) {
  compare({1, 5, 20}, {9, 5, 90}, 32, {.heads = 2, .is_causal = true});
  compare({1, 5, 20}, {9, 5, 600}, 32, {.heads = 2, .is_causal = true, .window_radius = 7});
  const auto table = rotary_table(600, {.width = 16, .theta = 100.0}, at::kCPU);
  compare({1, 5, 20}, {9, 5, 600}, 32, {.heads = 2, .is_causal = true, .rotary = table});
}

TEST_P(SplitAttention, AFewQueriesReadHeadsOfEveryWidth) {
  for (const int64_t width : {1, 8, 20, 32, 52, 64, 96, 128, 150}) {
    compare({1, 2, 4}, {9, 40, 130}, width, {.heads = 2, .key_heads = 1, .is_causal = true});
    compare({1, 2}, {30, 90}, width, {.heads = 2, .is_causal = true, .window_radius = 21});
  }
}

TEST_P(SplitAttention, PrefixesAreCountedFromTheFirstKey) {
  compare({1, 5, 20}, {9, 5, 90}, 32,
          {.heads = 2, .is_causal = true, .prefix_lengths = {9, 3, 80}});
  compare(
      {4, 50}, {20, 600}, 16,
      {.heads = 4, .key_heads = 2, .is_causal = true, .prefix_lengths = {18, 590}, .dropout = 0.2});
  compare_fused({50, 97}, 32, {.heads = 2, .is_causal = true, .prefix_lengths = {33, 90}}, 97);
  compare_fused({600, 40}, 32,
                {.heads = 2, .key_heads = 1, .is_causal = true, .prefix_lengths = {599, 1}}, 600);
}

TEST_P(SplitAttention, HeadsOfQueriesShareThoseOfKeys) {
  compare_fused({5, 1, 64, 17, 130}, 32, {.heads = 6, .key_heads = 2});
  compare_fused({50, 97}, 32, {.heads = 4, .key_heads = 1, .is_causal = true, .dropout = 0.3});
  const auto table = rotary_table(1100, {.width = 12, .theta = 100.0}, at::kCPU);
  compare_fused({1100, 3}, 12, {.heads = 4, .key_heads = 2, .is_causal = true, .rotary = table});
  compare({7, 50}, {20, 90}, 12, {.heads = 4, .key_heads = 2});
}

TEST_P(SplitAttention, AddsABiasByDistance) {
  compare_fused({5, 1, 64, 17, 33}, 32, {.heads = 2}, 64);
  compare_fused({50, 97}, 32, {.heads = 2, .is_causal = true, .dropout = 0.2}, 97);
  compare_fused({5, 1, 64}, 32, {.heads = 3}, 20);   // the furthest share the last
  compare_fused({5, 1, 30}, 32, {.heads = 3}, 200);  // and some are nobody's
  compare_fused({600, 40}, 32, {.heads = 2, .key_heads = 1}, 600);
  compare({7, 50}, {20, 90}, 32, {.heads = 2}, 90);
  compare({4, 1}, {20, 90}, 32, {.heads = 2, .is_causal = true}, 90);
}

TEST_P(SplitAttention, RotatesOnlyTheFirstFeatures) {
  const auto table = rotary_table(130, {.width = 6, .theta = 100.0}, at::kCPU);
  compare_fused({5, 130}, 20, {.heads = 2, .is_causal = true, .rotary = table});
}

TEST_P(SplitAttention, KeysMayBeStrided) {
  const auto queries = layout_of({2, 1, 3});
  const auto keys = layout_of({5, 9, 3});
  const auto room = at::randn({60, 2 * 2 * 8}).to(type());
  const auto query = at::randn({6, 2 * 8}).to(type());
  const std::vector<int64_t> begins{40, 3, 20};
  std::vector<at::Tensor> rows;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    rows.push_back(room.narrow(0, begins[b], keys.offsets[b + 1] - keys.offsets[b]));
  }
  const auto packed = at::cat(rows);
  const AttentionSettings settings{.heads = 2, .is_causal = true};
  const auto apart = attention({.query = query,
                                .key = room.narrow(1, 0, 16),
                                .value = room.narrow(1, 16, 16),
                                .key_begins = begins},
                               queries, keys, settings, kSplitAttentionKey);
  const auto together =
      attention({.query = query, .key = packed.narrow(1, 0, 16), .value = packed.narrow(1, 16, 16)},
                queries, keys, settings, kSplitAttentionKey);
  EXPECT_TRUE(at::equal(apart, together));
}

TEST_P(SplitAttention, ThreadsChangeNoBit) {
  const auto layout = layout_of({90, 7, 33, 64});
  const auto qkv = at::randn({layout.tokens(), 8 * 16});
  const auto bias = at::randn({4, 179});
  const auto run = [&] {
    return comparison::run(
        [&](const auto& in) {
          return attention(in[0], layout,
                           {.heads = 4, .key_heads = 2, .distance_bias = in[1].to(at::kFloat)},
                           kSplitAttentionKey);
        },
        {qkv, bias}, type());
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, run), comparison::with_threads(3, run)));
}

INSTANTIATE_TEST_SUITE_P(Levels, SplitAttention, comparison::kVariants, comparison::variant_name);

TEST(AttentionSides, MustFit) {
  const auto layout = layout_of({3});
  const auto x = at::randn({3, 16});
  EXPECT_THROW(attention({.query = x, .key = x, .value = x}, layout, layout,
                         {.heads = 4, .key_heads = 2}, kSplitAttentionKey),
               c10::Error);
  EXPECT_THROW(attention({.query = x, .key = x.narrow(0, 0, 2), .value = x.narrow(0, 0, 2)}, layout,
                         layout_of({2}), {.heads = 2, .is_causal = true}, kSplitAttentionKey),
               c10::Error);
}

}  // namespace
}  // namespace weft::kernels
