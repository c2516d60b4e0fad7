#include "nn/depth/drop_path.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "nn/row_selection.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDropDim = 8;

StackOptions dropping_stack(NormPlacement place, const StochasticDepth& depth, double dropout = 0) {
  const BlockOptions block{.attention = {.dim = kDropDim, .heads = 2, .dropout = dropout},
                           .feed_forward = {.dim = kDropDim, .width = 12, .dropout = dropout},
                           .norm = {.dim = kDropDim, .epsilon = 1e-5},
                           .norm_placement = place,
                           .dropout = dropout};
  return {.layers = {block, block, block},
          .stochastic_depth = depth,
          .norm = place == NormPlacement::kPre ? std::optional(block.norm) : std::nullopt};
}

at::Tensor dropping_input(int64_t tokens) {
  return at::arange(tokens * kDropDim, at::kFloat).view({tokens, kDropDim}).mul(0.7).sin();
}

ForwardContext training_context(const std::vector<int64_t>& offsets, uint64_t step = 0) {
  auto context = test::context_of(offsets);
  context.is_training = true;
  context.step = step;
  return context;
}

TEST(DropPath, DropsWholeSequencesAndKeepsTheMean) {
  constexpr int64_t kSequences = 4000;
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b <= kSequences; ++b) {
    offsets.push_back(3 * b);
  }
  auto context = test::context_of(offsets);
  const auto branch = at::ones({3 * kSequences, 2});
  EXPECT_TRUE(drop_path(branch, 0.25, 9, context).is_same(branch));
  context.is_training = true;
  EXPECT_TRUE(drop_path(branch, 0, 9, context).is_same(branch));
  const auto dropped = drop_path(branch, 0.25, 9, context).view({kSequences, 6});
  EXPECT_TRUE(dropped.eq(dropped.select(1, 0).unsqueeze(1)).all().item<bool>());
  EXPECT_NEAR(dropped.eq(0).to(at::kDouble).mean().item<double>(), 0.25, 0.02);
  EXPECT_NEAR(dropped.max().item<double>(), 1 / 0.75, 1e-6);
  const auto first_tokens = RowSelection::first_tokens(context).select(context);
  const auto by_sequence = drop_path(at::ones({kSequences, 2}), 0.25, 9, first_tokens);
  EXPECT_TRUE(test::near(by_sequence.select(1, 0), dropped.select(1, 0), 0));
  EXPECT_FALSE(drop_path(branch, 0.25, 10, context).view({kSequences, 6}).equal(dropped));
}

/// A batch split in two uses the same random numbers as the whole.
TEST(DropPath, DoesNotDependOnMicroBatches) {
  auto context = test::context_of({0, 2, 5, 6, 8});
  context.is_training = true;
  const auto whole = drop_path(at::ones({8, 1}), 0.5, 3, context);
  auto second = test::context_of({0, 1, 3});
  second.is_training = true;
  second.first_sequence = 2;
  second.first_row = 5;
  EXPECT_TRUE(drop_path(at::ones({3, 1}), 0.5, 3, second).equal(whole.narrow(0, 5, 3)));
}

/// Computing a sub-layer for the other sequences only equals computing it for all and dropping.
TEST(DropPath, SkipsWhatItDrops) {
  const auto x = dropping_input(12);
  for (const auto place : {NormPlacement::kPost, NormPlacement::kPre, NormPlacement::kSandwich}) {
    StackImpl stack(dropping_stack(place, {.drop_path_rate = 0.5, .is_constant = true}));
    test::fill_parameters(stack);
    for (uint64_t step = 0; step < 6; ++step) {
      auto context = training_context({0, 2, 5, 6, 9, 12}, step);
      const auto gradients = [&] {
        const auto in = x.clone().requires_grad_();
        const auto out = stack.forward(in, context);
        stack.zero_grad();
        (out * x.cos()).sum().backward();
        std::vector<at::Tensor> result{out.detach(), in.grad()};
        for (const auto& parameter : stack.parameters()) {
          result.push_back(parameter.grad().clone());
        }
        return result;
      };
      const auto skipped = gradients();
      context.earlier_lengths.reset();
      const auto dropped = gradients();
      for (std::size_t i = 0; i < skipped.size(); ++i) {
        EXPECT_TRUE(test::near(skipped[i], dropped[i], 1e-5)) << i;
      }
    }
  }
}

TEST(DropPath, LeavesOutTheSequencesThatItDrops) {
  auto context = training_context({0, 2, 5, 6, 9});
  context.prefix_lengths = {1, 2, 0, 3};
  const EncoderStates source{.states = dropping_input(7),
                             .layout = kernels::Layout::from_offsets({0, 1, 3, 6, 7}, at::kCPU)};
  context.encoder_states = &source;
  const auto mask = drop_path(at::ones({9, 1}), 0.5, 4, context).flatten();
  const auto kept = sequences_not_dropped(0.5, 4, context);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->rows.equal(mask.nonzero().flatten()));
  EXPECT_GT(kept->rows.size(0), 0);
  EXPECT_LT(kept->rows.size(0), 9);
  const auto& own = kept->context;
  EXPECT_EQ(own.layout.tokens(), kept->rows.size(0));
  int64_t next = 0;
  int64_t source_tokens = 0;
  for (int64_t b = 0; b < 4; ++b) {
    const auto row = context.layout.offsets[static_cast<std::size_t>(b)];
    if (mask[row].item<double>() > 0) {
      EXPECT_EQ(own.layout.length(next), context.layout.length(b));
      EXPECT_EQ(own.prefix_lengths[static_cast<std::size_t>(next)],
                context.prefix_lengths[static_cast<std::size_t>(b)]);
      EXPECT_EQ(own.encoder_states->layout.length(next), source.layout.length(b));
      source_tokens += source.layout.length(b);
      ++next;
    }
  }
  EXPECT_EQ(own.layout.sequences(), next);
  EXPECT_EQ(own.encoder_states->states.size(0), source_tokens);
  context.is_training = false;
  EXPECT_FALSE(sequences_not_dropped(0.5, 4, context));
}

TEST(DropPath, MicroBatchesDrawTheDropoutOfTheWholeStep) {
  const StochasticDepth depth{.drop_path_rate = 0.4, .is_constant = true, .layerdrop = 0.3};
  for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
    StackImpl stack(dropping_stack(place, depth, 0.3));
    test::fill_parameters(stack);
    const auto x = dropping_input(12);
    for (uint64_t step = 0; step < 6; ++step) {
      const auto whole = training_context({0, 2, 5, 6, 9, 12}, step);
      const auto first = training_context({0, 2, 5}, step);
      auto second = training_context({0, 1, 4, 7}, step);
      second.first_row = 5;
      second.first_sequence = 2;
      second.earlier_lengths = {2, 3};
      const auto parts =
          at::cat({stack.forward(x.slice(0, 0, 5), first), stack.forward(x.slice(0, 5), second)});
      EXPECT_TRUE(test::near(stack.forward(x, whole), parts)) << step;
    }
  }
}

TEST(DropPath, TheRateGrowsLinearlyOrIsConstant) {
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b <= 2000; ++b) {
    offsets.push_back(b);
  }
  auto one = dropping_input(1).expand({2000, kDropDim});
  const auto share_of_unchanged = [&](bool is_constant, std::size_t layer) {
    auto options =
        dropping_stack(NormPlacement::kPre, {.drop_path_rate = 0.6, .is_constant = is_constant});
    options.norm.reset();
    for (std::size_t i = 0; i < 3; ++i) {
      options.layers[i].order = i == layer ? "f" : "n";  // a norm alone: nothing to drop
    }
    StackImpl stack(options);
    test::fill_parameters(stack);
    return stack.forward(one, training_context(offsets));
  };
  const auto distinct = [](const at::Tensor& out) {
    return out.select(1, 0).eq(out.select(1, 0).max()).to(at::kDouble).mean().item<double>();
  };
  EXPECT_EQ(distinct(share_of_unchanged(false, 0)), 1);
  for (const auto& [is_constant, layer, rate] : std::vector<std::tuple<bool, std::size_t, double>>{
           {false, 1, 0.3}, {false, 2, 0.6}, {true, 0, 0.6}}) {
    const auto share = distinct(share_of_unchanged(is_constant, layer));
    EXPECT_TRUE(std::abs(share - rate) < 0.04 || std::abs(share - (1 - rate)) < 0.04) << share;
  }
}

TEST(LayerDrop, SkipsWholeLayersOfAStep) {
  StackImpl stack(dropping_stack(NormPlacement::kPre, {.layerdrop = 0.5}));
  test::fill_parameters(stack);
  StackImpl plain(dropping_stack(NormPlacement::kPre, {}));
  test::fill_parameters(plain);
  const auto x = dropping_input(5);
  auto context = test::context_of({0, 2, 5});
  EXPECT_TRUE(test::near(stack.forward(x, context), plain.forward(x, context), 0));
  context.is_training = true;
  int64_t dropped = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    context.step = step;
    stack.zero_grad();
    stack.forward(x, context).sum().backward();
    for (int layer = 0; layer < 3; ++layer) {
      const auto& gradient =
          stack.named_parameters()[std::to_string(layer) + ".feed_forward.down.bias"].grad();
      dropped += !gradient.defined() || gradient.eq(0).all().item<bool>() ? 1 : 0;
    }
    const auto rows = RowSelection::from_rows({1, 4}, context, 0);
    EXPECT_TRUE(test::near(stack.forward_selected(x, context, rows),
                           stack.forward(x, context).index_select(0, rows.index)));
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 600, 0.5, 0.06);
}

}  // namespace
}  // namespace weft::nn
