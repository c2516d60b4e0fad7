#pragma once

#include <string>

#include <gtest/gtest.h>

#include "support/attention.h"
#include "support/context.h"
#include "support/tensors.h"

/// What the tests of attention types share.
namespace weft::test {

inline constexpr int64_t kAttentionDim = 32;
inline constexpr int64_t kAttentionHeads = 4;

inline nn::AttentionOptions attention_options(bool is_causal, int64_t layer = 0) {
  return {.dim = kAttentionDim,
          .heads = kAttentionHeads,
          .layer = layer,
          .is_causal = is_causal,
          .dropout = 0};
}

/// Rows that look random and are always the same, (count, kAttentionDim).
inline at::Tensor attention_tokens(int64_t count, at::ScalarType type = at::kFloat) {
  const auto places = at::arange(count * kAttentionDim, at::kDouble);
  return ((places * 1.7).sin() + (places * 0.37).cos()).view({count, kAttentionDim}).to(type);
}

/// Both types with the parameters of the second where the names agree.
inline void expect_equal_types(const std::string& keys,
                               const std::string& other_keys,
                               bool is_causal,
                               int64_t length = 64,
                               int64_t layer = 0) {
  const auto options = attention_options(is_causal, layer);
  const auto found = attention_layer(keys, options);
  const auto expected = attention_layer(other_keys, options);
  const at::NoGradGuard guard;
  const auto values = expected->named_parameters();
  for (auto& parameter : found->named_parameters()) {
    if (const auto* value = values.find(parameter.key()); value != nullptr) {
      parameter.value().copy_(*value);
    }
  }
  const auto context = context_of({0, length});
  const auto x = attention_tokens(length);
  EXPECT_TRUE(near(found->forward(x, context), expected->forward(x, context)))
      << keys << " and " << other_keys << ", length " << length;
}

}  // namespace weft::test
