#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/threads.h"
#include "config/section.h"
#include "kernels/flop_counter.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_layers.h"
#include "nn/decoding_state.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

/// What holds for every attention type.
namespace weft::nn {
namespace {

struct TypeCase {
  std::string name;  // of the test
  std::string keys;  // of `model.attention`, without the braces
  bool is_causal = false;
  bool has_weights = true;   // Attention::weights
  bool is_softmax = true;    // a lone token's output is its own value
  bool is_discrete = false;  // rounding may change which tokens see each other
  double bf16_error = 0.1;   // of gradients: more after a norm within the attention
};

void PrintTo(const TypeCase& type, std::ostream* out) { *out << type.keys; }

AttentionOptions options_of(const TypeCase& type) {
  return test::attention_options(type.is_causal, /*layer=*/1);
}

std::shared_ptr<Attention> layer_of(const TypeCase& type) {
  return test::attention_layer(type.keys, options_of(type));
}

ForwardContext context_of_lengths(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets{0};
  for (const auto length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return test::context_of(offsets);
}

/// Output and gradient of the input, for a fixed gradient of each row.
struct Run {
  at::Tensor y;
  at::Tensor gradient;
};

Run run(Attention& layer, const at::Tensor& x, const ForwardContext& context) {
  const auto leaf = x.detach().clone().requires_grad_();
  const auto y = layer.forward(leaf, context);
  // By position in the sequence, so that it does not matter where the sequence lies.
  const auto weights =
      (context.layout.positions.unsqueeze(1) * 1.3 + at::arange(test::kAttentionDim)).cos();
  return {.y = y.detach(), .gradient = torch::autograd::grad({(y * weights).sum()}, {leaf})[0]};
}

class AttentionType : public ::testing::TestWithParam<TypeCase> {};
class CausalAttentionType : public AttentionType {};
class SoftmaxAttentionType : public AttentionType {};
/// Rounding does not change which tokens see each other.
class ContinuousAttentionType : public AttentionType {};
class WeightedAttentionType : public AttentionType {};

TEST_P(AttentionType, ASequenceAloneIsTheSameInABatch) {
  const auto layer = layer_of(GetParam());
  const std::vector<int64_t> lengths{7, 1, 64, 2, 33};
  const auto context = context_of_lengths(lengths);
  const auto x = test::attention_tokens(context.layout.tokens());
  const auto together = run(*layer, x, context);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const auto begin = context.layout.offsets[b];
    const auto end = context.layout.offsets[b + 1];
    const auto alone = run(*layer, x.slice(0, begin, end), context_of_lengths({lengths[b]}));
    EXPECT_TRUE(test::near(together.y.slice(0, begin, end), alone.y, 2e-6)) << lengths[b];
    const auto size = alone.gradient.abs().max().item<double>();
    EXPECT_TRUE(test::near(together.gradient.slice(0, begin, end), alone.gradient,
                           2e-5 * std::max(1.0, size)))
        << lengths[b];
  }
}

TEST_P(AttentionType, BatchesMayRunAtTheSameTime) {
  constexpr int64_t kPasses = 8;
  const auto layer = layer_of(GetParam());
  const auto pass = [&](int64_t index) {
    const at::NoGradGuard guard;
    const auto context = context_of_lengths({3 + 41 * index, 5});
    return layer->forward(test::attention_tokens(context.layout.tokens()), context);
  };
  std::vector<at::Tensor> found(kPasses);
  parallel_for(
      kPasses, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
          found[static_cast<std::size_t>(index)] = pass(index);
        }
      },
      4);
  for (int64_t index = 0; index < kPasses; ++index) {
    EXPECT_TRUE(test::near(found[static_cast<std::size_t>(index)], pass(index), 2e-6)) << index;
  }
}

TEST_P(AttentionType, GradientsMatchDifferences) {
  const auto layer = layer_of(GetParam());
  layer->to(at::kDouble);
  for (const int64_t length : {1, 2, 3, 7}) {
    const auto context = context_of_lengths({length});
    const auto weights = at::arange(length * test::kAttentionDim, at::kDouble)
                             .cos()
                             .view({length, test::kAttentionDim});
    const auto loss = [&](const at::Tensor& x) {
      return (layer->forward(x, context) * weights).sum();
    };
    const auto x = test::attention_tokens(length).to(at::kDouble).requires_grad_();
    auto inputs = layer->parameters();
    inputs.push_back(x);
    const auto gradients = torch::autograd::grad({loss(x)}, inputs, {}, false, false, true);
    const at::NoGradGuard guard;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto direction = at::arange(inputs[i].numel(), at::kDouble).sin().view_as(inputs[i]);
      auto values = inputs[i].detach();
      const auto moved = [&](double by) {
        values.add_(direction, by);
        const auto result = loss(inputs.back().detach()).item<double>();
        values.sub_(direction, by);
        return result;
      };
      constexpr double kStep = 2e-6;
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      const double found =
          gradients[i].defined() ? (gradients[i] * direction).sum().item<double>() : 0;
      EXPECT_NEAR(found, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << "length " << length << ", input " << i;
    }
  }
}

TEST_P(SoftmaxAttentionType, ALoneTokenIsItsOwnValue) {
  const auto layer = layer_of(GetParam());
  const auto x = test::attention_tokens(1);
  const auto parameters = layer->named_parameters();
  const auto value = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                         .slice(1, 2 * test::kAttentionDim);
  const auto expected = at::linear(value, parameters["output.weight"], parameters["output.bias"]);
  EXPECT_TRUE(test::near(layer->forward(x, context_of_lengths({1})), expected));
}

// Edits a token and runs again: a gradient would miss tokens that are moved, sorted or chosen.
TEST_P(CausalAttentionType, TheFutureIsInvisible) {
  const auto layer = layer_of(GetParam());
  for (const int64_t length : {5, 64, 150}) {
    const auto context = context_of_lengths({length});
    const auto x = test::attention_tokens(length);
    const auto before = layer->forward(x, context);
    for (const auto edited_token : {length - 1, length / 2, int64_t{1}}) {
      auto edited = x.clone();
      edited.select(0, edited_token).mul_(4).add_(1);
      const auto after = layer->forward(edited, context);
      EXPECT_TRUE(
          test::near(after.slice(0, 0, edited_token), before.slice(0, 0, edited_token), 1e-6))
          << edited_token << " of " << length;
      EXPECT_TRUE(GetParam().is_discrete ||
                  !test::near(after[edited_token], before[edited_token], 1e-6));
    }
    // Nor does the length of a text change what is before its end.
    EXPECT_TRUE(
        test::near(layer->forward(x.slice(0, 0, length / 2), context_of_lengths({length / 2})),
                   before.slice(0, 0, length / 2), 2e-6));
  }
}

TEST_P(CausalAttentionType, DecodesWhatOnePassComputes) {
  const at::NoGradGuard guard;
  const auto layer = layer_of(GetParam());
  const auto x = test::attention_tokens(70 + 40);
  const auto whole = layer->forward(x, context_of_lengths({70, 40}));
  DecodingState state(2);
  auto context = context_of_lengths({0, 0});
  context.decoding_state = &state;
  const auto pass = [&](int64_t first, int64_t count) {
    context.layout = state.begin_step({count, count}, at::kCPU);
    const auto rows =
        at::cat({x.slice(0, first, first + count), x.slice(0, 70 + first, 70 + first + count)});
    const auto y = layer->forward(rows, context);
    EXPECT_TRUE(test::near(y.slice(0, 0, count), whole.slice(0, first, first + count))) << first;
    EXPECT_TRUE(test::near(y.slice(0, count), whole.slice(0, 70 + first, 70 + first + count)))
        << first;
  };
  pass(0, 33);
  for (int64_t token = 33; token < 40; ++token) {
    pass(token, 1);
  }
}

TEST_P(ContinuousAttentionType, Bf16IsNearFp32) {
  const auto layer = layer_of(GetParam());
  test::fill_parameters(*layer, 0.08);
  const auto context = context_of_lengths({33, 7, 64});
  const auto x = test::attention_tokens(104);
  const auto expected = run(*layer, x, context);
  layer->to(at::kBFloat16);
  const auto found = run(*layer, x.to(at::kBFloat16), context);
  EXPECT_EQ(found.y.scalar_type(), at::kBFloat16);
  const auto error = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.to(at::kFloat) - b).norm() / b.norm()).item<float>();
  };
  EXPECT_LT(error(found.y, expected.y), 0.03);
  EXPECT_LT(error(found.gradient, expected.gradient), GetParam().bf16_error);
}

// The values of each head mixed by the weights: the definition of softmax attention.
TEST_P(WeightedAttentionType, WeightsMixTheValues) {
  const auto layer = layer_of(GetParam());
  for (const int64_t length : {3, 64, 130}) {
    const auto context = context_of_lengths({length});
    const auto x = test::attention_tokens(length);
    const auto weights = layer->weights(x, context)[0];
    EXPECT_EQ(weights.sizes(), (std::vector<int64_t>{4, length, length}));
    const auto parameters = layer->named_parameters();
    const auto values = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                            .slice(1, 2 * test::kAttentionDim)
                            .view({length, 4, -1})
                            .transpose(0, 1);
    const auto expected = at::linear(
        at::matmul(weights, values).transpose(0, 1).reshape({length, test::kAttentionDim}),
        parameters["output.weight"], parameters["output.bias"]);
    EXPECT_TRUE(test::near(layer->forward(x, context), expected, 2e-5)) << length;
  }
}

TEST_P(AttentionType, DropoutIsAFunctionOfTheStep) {
  auto options = options_of(GetParam());
  options.dropout = 0.4;
  const auto layer = test::attention_layer(GetParam().keys, options);
  auto context = context_of_lengths({33, 7, 64});
  const auto x = test::attention_tokens(104);
  const auto plain = layer->forward(x, context);
  context.is_training = true;
  context.seed = 3;
  context.step = 5;
  const auto first = layer->forward(x, context);
  EXPECT_FALSE(test::near(first, plain, 1e-3));
  EXPECT_TRUE(at::equal(first, layer->forward(x, context)));
  // A micro-batch has the bits of its place in the step.
  auto second_half = context_of_lengths({7, 64});
  second_half.is_training = true;
  second_half.seed = 3;
  second_half.step = 5;
  second_half.first_sequence = 1;
  second_half.first_row = 33;
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 33), second_half), first.slice(0, 33), 2e-6));
  context.step = 6;
  EXPECT_FALSE(test::near(first, layer->forward(x, context), 1e-3));
}

TEST_P(AttentionType, ThreadsChangeNoBit) {
  auto options = options_of(GetParam());
  options.dropout = 0.2;
  const auto layer = test::attention_layer(GetParam().keys, options);
  auto context = context_of_lengths({150, 33, 7, 64, 400});
  context.is_training = true;
  const auto x = test::attention_tokens(context.layout.tokens());
  const auto weights = x.cos();
  const auto results_with = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const auto leaf = x.clone().requires_grad_();
    const auto y = layer->forward(leaf, context);
    auto inputs = layer->parameters();
    inputs.push_back(leaf);
    auto results = torch::autograd::grad({y}, inputs, {weights}, false, false, true);
    results.push_back(y.detach());
    at::set_num_threads(before);
    return results;
  };
  const auto expected = results_with(1);
  for (const int threads : {2, 5}) {
    const auto found = results_with(threads);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_equal =
          found[i].defined() ? at::equal(found[i], expected[i]) : !expected[i].defined();
      EXPECT_TRUE(is_equal) << threads << " threads, result " << i << " of " << found.size();
    }
  }
}

TEST_P(AttentionType, ItsKeysAreStored) {
  const auto choice = test::attention_choice(GetParam().keys);
  const auto document = config::Document::parse(choice.keys, "stored");
  auto section = document.root();
  const auto again = read_component(section, attention_types().at(choice.type));
  EXPECT_EQ(again.keys, choice.keys);
}

const std::vector<TypeCase> kTypes{
    {"full", "type: full"},
    {"full_causal", "type: full", true},
    {"window", "type: window, window: 6"},
    {"window_causal", "type: window, window: 6", true},
    {"block_local", "type: block_local, block: 5"},
    {"block_local_look_back", "type: block_local, block: 9, look_back: 2"},
    {"block_local_blocks", "type: block_local, blocks: 3"},
    {"block_local_shifted", "type: block_local, block: 10, shift_heads: true"},
    {"block_local_causal", "type: block_local, block: 16, look_back: 1", true},
    {"strided", "type: strided, stride: 4"},
    {"strided_root", "type: strided"},
    {"strided_causal", "type: strided, stride: 7", true},
    {"dilated", "type: dilated, window: 8, dilation: [3]"},
    {"dilated_heads", "type: dilated, window: 8, dilation: [1, 2, 3]"},
    {"dilated_causal", "type: dilated, window: 5, dilation: [1, 2]", true},
    {"multi_scale", "type: multi_scale, windows: [2, 1/4, all]"},
    {"multi_scale_causal", "type: multi_scale, windows: [3, 17, all]", true},
    {"big_bird", "type: big_bird, block: 4, random_blocks: 1"},
    {"big_bird_window", "type: big_bird, block: 8, random_blocks: 0, window_blocks: 1"},
    {"sparse_transformer", "type: sparse_transformer, stride: 8"},
    {"sparse_transformer_merged", "type: sparse_transformer, stride: 8, mix: merged"},
    {"sparse_transformer_causal", "type: sparse_transformer, stride: 8", true},
    {"sparse_transformer_merged_causal", "type: sparse_transformer, stride: 8, mix: merged", true},
    {"sparse_transformer_fixed_causal",
     "type: sparse_transformer, mode: fixed, stride: 9, summary: 2", true},
    {"sparse_transformer_layers_causal",
     "type: sparse_transformer, mode: fixed, stride: 9, summary: 2, mix: layers", true},
    {"longformer", "type: longformer, window: 8, global_tokens: 2", false, false, false},
    {"talking_heads", "type: talking_heads", false, true, false},
    {"talking_heads_causal", "type: talking_heads, project: scores", true},
    {"gaussian", "type: gaussian"},
    {"gaussian_causal", "type: gaussian", true},
    {"gaussian_local", "type: gaussian, form: local"},
    {"gaussian_local_layer", "type: gaussian, form: local, window_size: layer"},
    {"gaussian_local_causal", "type: gaussian, form: local, window_size: layer", true},
    {"gaussian_local_fixed_causal",
     "type: gaussian, form: local, window_size: fixed, fixed_window: 5", true},
    {"hard", "type: hard", false, true, true, true},
    {"hard_causal", "type: hard", true, true, true, true},
    {"realformer", "type: realformer"},
    {"realformer_causal", "type: realformer", true},
    {"synthesizer", "type: synthesizer"},
    {"synthesizer_random_causal", "type: synthesizer, scores: [random]", true},
    {"synthesizer_factorized", "type: synthesizer, scores: [factorized_dense, factorized_random]"},
    {"synthesizer_mixed_causal", "type: synthesizer, scores: [dense, dot, factorized_dense]", true},
    {"nystrom", "type: nystrom, landmarks: 8", false, false, false},
    {"nystrom_plain", "type: nystrom, landmarks: 8, convolution: 0", false, false},
    {"linear", "type: linear"},
    {"linear_causal", "type: linear", true},
    {"performer", "type: performer"},
    {"performer_causal", "type: performer, features: 40", true},
    {"performer_independent", "type: performer, features: 40, orthogonal: false"},
    {"reformer", "type: reformer, chunk: 4", false, false, false, true},
    {"reformer_rounds", "type: reformer, chunk: 4, rounds: 3", false, false, false, true},
    {"reformer_causal", "type: reformer, chunk: 4, buckets: 6, rounds: 2", true, false, false,
     true},
    {"routing", "type: routing, clusters: 3", false, false, false, true},
    {"routing_top", "type: routing, clusters: 3, assign: top", false, false, false, true},
    {"routing_causal", "type: routing, clusters: 3, window: 8, local_heads: 1", true, false, false,
     true},
    {"transformer_xl", "type: transformer_xl, memory: 9", true},
    {"compressive", "type: compressive, memory: 9, compression_rate: 2", true},
    {"memory_compressed", "type: memory_compressed", false, false, false},
    {"memory_compressed_causal", "type: memory_compressed, compression: 4", true, false, false,
     true},
    {"induced", "type: induced, points: 5", false, false, false, false, 0.25},
    {"clustered", "type: clustered, clusters: 5, top: 3", false, false, true, true},
    {"clustered_plain", "type: clustered, clusters: 5, top: 0", false, false, true, true},
    {"lite_transformer", "type: lite_transformer, kernel_size: 5", false, false, false},
    {"lite_transformer_dynamic", "type: lite_transformer, convolution: dynamic, kernel_size: 3",
     false, false, false},
    {"lite_transformer_causal", "type: lite_transformer, kernel_size: 7", true, false, false},
    {"lite_transformer_dynamic_causal",
     "type: lite_transformer, convolution: dynamic, kernel_size: 3, attention_share: 0.25", true,
     false, false},
    {"delight", "type: delight, depth: [3, 3], groups: 4", false, false, false, false, 0.25},
    {"delight_causal", "type: delight, depth: [2, 2], dextra_dropout: 0.2, shuffle: false", true,
     false, false, false, 0.25},
    {"informer", "type: informer, factor: 1", false, false},
    {"informer_exact", "type: informer, factor: 1, sample: false", false, false},
    {"hybrid",
     "type: hybrid, patterns: [{type: window, window: 4}, {type: strided, stride: 5}, {type: "
     "global, tokens: 2}]"},
    {"hybrid_heads",
     "type: hybrid, combine: heads, patterns: [{type: window, window: 4}, {type: strided, stride: "
     "5}]"},
    {"hybrid_causal",
     "type: hybrid, patterns: [{type: window, window: 4}, {type: dilated, window: 5, dilation: [2, "
     "3]}, {type: global, tokens: 2}]",
     true},
};

std::string name_of_case(const ::testing::TestParamInfo<TypeCase>& type) { return type.param.name; }

std::vector<TypeCase> types_that(bool (*fits)(const TypeCase&)) {
  std::vector<TypeCase> result;
  std::ranges::copy_if(kTypes, std::back_inserter(result), fits);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionType, ::testing::ValuesIn(kTypes), name_of_case);
INSTANTIATE_TEST_SUITE_P(Types,
                         CausalAttentionType,
                         ::testing::ValuesIn(types_that([](const TypeCase& type) {
                           return type.is_causal;
                         })),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Types,
                         SoftmaxAttentionType,
                         ::testing::ValuesIn(types_that([](const TypeCase& type) {
                           return type.is_softmax;
                         })),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Types,
                         ContinuousAttentionType,
                         ::testing::ValuesIn(types_that([](const TypeCase& type) {
                           return !type.is_discrete;
                         })),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Types,
                         WeightedAttentionType,
                         ::testing::ValuesIn(types_that([](const TypeCase& type) {
                           return type.has_weights;
                         })),
                         name_of_case);

TEST(AttentionTypes, AreAllTested) {
  std::set<std::string> tested;
  for (const auto& type : kTypes) {
    tested.insert(test::attention_choice(type.keys).type);
  }
  tested.insert("binary_tree");  // binary_tree_test.cpp: its rows are not tokens alone
  tested.insert("linformer");    // linformer_test.cpp
  tested.insert("scored");       // score_functions_test.cpp
  for (const auto& name : attention_types().names()) {
    EXPECT_TRUE(tested.contains(name)) << name;
  }
}

}  // namespace
}  // namespace weft::nn
