#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "nn/attention/attention_layers.h"
#include "nn/decoding_state.h"
#include "support/config.h"

/// Keys of the attention types that are refused.
namespace weft::nn {
namespace {

TEST(AttentionTypeKeys, RefuseWhatIsNotCausal) {
  for (const std::string type :
       {"big_bird", "longformer", "linformer", "nystrom", "informer", "induced", "clustered"}) {
    const auto message = test::message_of<config::Error>([&] {
      test::attention_choice("type: " + type + (type == "linformer" ? ", length: 9" : ""))
          .make(test::attention_options(true));
    });
    EXPECT_NE(message.find("attention.type: found '" + type + "' in a causal model: "),
              std::string::npos)
        << message;
  }
  for (const std::string keys :
       {"type: strided", "type: block_local, blocks: 3", "type: multi_scale, windows: [1/4]",
        "type: reformer", "type: routing", "type: hybrid, patterns: [{type: strided}]"}) {
    const auto message = test::message_of<config::Error>(
        [&] { test::attention_choice(keys).make(test::attention_options(true)); });
    EXPECT_NE(message.find("depends on the length of the text in a causal model"),
              std::string::npos)
        << message;
    EXPECT_NO_THROW(test::attention_choice(keys).make(test::attention_options(false)));
  }
}

TEST(AttentionTypeKeys, AMemoryNeedsACausalModel) {
  const auto message = test::message_of<config::Error>(
      [] { test::attention_choice("type: transformer_xl").make(test::attention_options(false)); });
  EXPECT_NE(message.find("found 'transformer_xl' in a model that is not causal"), std::string::npos)
      << message;
}

TEST(AttentionTypeKeys, LooselyCausalTypesMustBeAllowedAndCannotGenerate) {
  const std::string keys = "type: routing, window: 4, assign: top";
  const auto message = test::message_of<config::Error>(
      [&] { test::attention_choice(keys).make(test::attention_options(true)); });
  EXPECT_NE(message.find("attention.assign: found 'top' in a causal model"), std::string::npos)
      << message;
  const auto layer =
      test::attention_layer(keys + ", loose_causal: true", test::attention_options(true));
  DecodingState state(1);
  auto context = test::context_of({0, 6});
  context.decoding_state = &state;
  const auto refusal =
      test::message_of<UserError>([&] { layer->forward(test::attention_tokens(6), context); });
  EXPECT_NE(refusal.find("cannot generate"), std::string::npos) << refusal;
}

TEST(AttentionTypeKeys, RefuseBadKeys) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"type: block_local, blocks: 2, block: 3", "block: "},
      {"type: block_local, shift_heads: true, look_back: 1", "look_back: has no effect"},
      {"type: dilated, dilation: [1.5]", "is not an integer"},
      {"type: dilated, dilation: []", "dilation: "},
      {"type: multi_scale, windows: [0]", "windows: found '0'"},
      {"type: multi_scale, windows: [1/0]", "windows: found '1/0'"},
      {"type: sparse_transformer, summary: 2", "summary: "},
      {"type: sparse_transformer, mode: fixed, stride: 4, summary: 5", "summary: found 5"},
      {"type: big_bird, window_blocks: 2", "window_blocks: found 2"},
      {"type: hybrid", "patterns: at least one"},
      {"type: hybrid, patterns: [{type: windows}]", "patterns.0.type: 'windows' is not one of"},
      {"type: hybrid, patterns: [{type: window, stride: 3}]", "stride"},
      {"type: synthesizer, scores: [dens]", "scores: 'dens' is not one of"},
      {"type: nystrom, convolution: 4", "convolution: found an even number"},
      {"type: reformer, buckets: 3", "buckets: found 3"},
      {"type: lite_transformer, kernel_size: 4", "kernel_size: found 4"},
      {"type: gaussian, window_size: layer", "window_size"}};
  for (const auto& [keys, expected] : cases) {
    const auto message = test::message_of<config::Error>([&] { test::attention_choice(keys); });
    EXPECT_NE(message.find(expected), std::string::npos) << keys << ": " << message;
  }
}

}  // namespace
}  // namespace weft::nn
