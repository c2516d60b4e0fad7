#include <memory>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/compare.h"
#include "kernels/flop_counter.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr RngKey kGroupKey{.seed = 5, .step = 2, .site = 1, .first_row = 0, .first_sequence = 11};

/// Groups of one sequence; all but every third group see about half of their keys, each query at
/// least one.
std::shared_ptr<const AttentionGroups> random_groups(const Layout& queries, const Layout& keys) {
  auto groups = std::make_shared<AttentionGroups>();
  for (int64_t b = 0; b < queries.sequences(); ++b) {
    groups->sequences.push_back(b / 2);
    groups->numbers.push_back(b % 2);
    groups->mask_begins.push_back(b % 3 == 2 ? -1 : std::ssize(groups->mask));
    for (int64_t i = 0; b % 3 != 2 && i < queries.length(b); ++i) {
      std::vector<uint16_t> row(
          static_cast<std::size_t>(AttentionGroups::mask_words(keys.length(b))));
      for (int64_t j = 0; j < keys.length(b); ++j) {
        if (j == i % keys.length(b) || at::rand({1}).item<float>() < 0.5) {
          row[static_cast<std::size_t>(j / 16)] |= static_cast<uint16_t>(1U << j % 16);
        }
      }
      groups->mask.insert(groups->mask.end(), row.begin(), row.end());
    }
  }
  return groups;
}

class GroupAttention : public comparison::EveryVariant {
 protected:
  void compare(const std::vector<int64_t>& query_lengths,
               const std::vector<int64_t>& key_lengths,
               const AttentionSettings& settings,
               int64_t width) {
    const auto queries = layout_of(query_lengths);
    const auto keys = layout_of(key_lengths);
    const auto groups = random_groups(queries, keys);
    const auto key_heads = settings.key_heads_or_heads();
    const std::vector<at::Tensor> inputs{at::randn({queries.tokens(), settings.heads * width}),
                                         at::randn({keys.tokens(), key_heads * width}),
                                         at::randn({keys.tokens(), key_heads * width})};
    const auto input = [&](const auto& in) {
      return AttentionInput{.query = in[0], .key = in[1], .value = in[2], .groups = groups};
    };
    comparison::expect_same(
        [&](const auto& in) { return attention(input(in), queries, keys, settings, kGroupKey); },
        [&](const auto& in) {
          return reference::attention(input(in), queries, keys, settings, kGroupKey);
        },
        inputs, type());
    const auto joined = [](const PartialAttention& partial) {
      return at::cat({partial.out.to(at::kFloat), partial.lse.to(at::kFloat)}, 1);
    };
    comparison::expect_same(
        [&](const auto& in) {
          return joined(partial_attention(input(in), queries, keys, settings, kGroupKey));
        },
        [&](const auto& in) {
          return joined(
              reference::partial_attention(input(in), queries, keys, settings, kGroupKey));
        },
        inputs, type());
  }
};

TEST_P(GroupAttention, EqualsPlainReference) {
  compare({5, 1, 33, 70}, {17, 64, 3, 90}, {.heads = 2}, 32);
  compare({5, 1, 33, 70}, {17, 64, 3, 90}, {.heads = 4, .key_heads = 2, .dropout = 0.3}, 16);
  compare({60, 3, 2, 1}, {700, 40, 30, 600}, {.heads = 1, .scale = 0.3, .dropout = 0.1}, 24);
  compare({2, 3}, {700, 80}, {.heads = 2}, 64);
}

INSTANTIATE_TEST_SUITE_P(Levels, GroupAttention, comparison::kVariants, comparison::variant_name);

TEST(AttentionGroups, MergedPartsAreTheWhole) {
  at::manual_seed(1);
  const auto query = at::randn({9, 32});
  const auto key = at::randn({20, 32});
  const auto value = at::randn({20, 32});
  const auto queries = layout_of({9});
  const AttentionSettings settings{.heads = 2};
  const auto part = [&](int64_t begin, int64_t end) {
    return partial_attention(
        {.query = query, .key = key.slice(0, begin, end), .value = value.slice(0, begin, end)},
        queries, layout_of({end - begin}), settings, {});
  };
  const auto first = part(0, 13);
  const auto second = part(13, 20);
  const auto shares = at::softmax(at::stack({first.lse, second.lse}), 0).unsqueeze(-1);
  const auto merged =
      first.out.view({9, 2, 16}) * shares[0] + second.out.view({9, 2, 16}) * shares[1];
  const auto whole = attention({.query = query, .key = key, .value = value}, queries,
                               layout_of({20}), settings, {});
  EXPECT_TRUE(at::allclose(merged.flatten(1), whole, 0, 1e-6));
}

TEST(AttentionGroups, CountsOnlyWhatTheMasksShow) {
  const auto layout = layout_of({2});
  auto groups = std::make_shared<AttentionGroups>();
  groups->sequences = {0};
  groups->numbers = {0};
  groups->mask_begins = {0};
  groups->mask = {0b01, 0b11};
  const auto x = at::ones({2, 16});
  const FlopCounter counter;
  attention({.query = x, .key = x, .value = x, .groups = groups}, layout, layout, {.heads = 2}, {});
  EXPECT_EQ(counter.flops(), kForwardProducts * 2 * 3 * 16);
}

TEST(AttentionGroups, HasNoOtherMasks) {
  const auto layout = layout_of({2});
  const auto x = at::ones({2, 16});
  auto groups = std::make_shared<AttentionGroups>();
  const auto run = [&](const AttentionSettings& settings) {
    attention({.query = x, .key = x, .value = x, .groups = groups}, layout, layout, settings, {});
  };
  EXPECT_THROW(run({.heads = 2}), c10::Error);
  groups->sequences = {0};
  groups->numbers = {0};
  groups->mask_begins = {-1};
  EXPECT_NO_THROW(run({.heads = 2}));
  EXPECT_THROW(run({.heads = 2, .is_causal = true}), c10::Error);
  EXPECT_THROW(run({.heads = 2, .window_radius = 1}), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
