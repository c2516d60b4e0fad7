#pragma once

#include <cstdint>
#include <vector>

#include "models/config/family_definition.h"
#include "models/decoding/search_options.h"

namespace weft::test {

inline constexpr int64_t kDecoderWords = 20;

/// A generative model of a family whose choices are far apart.
inline models::ModelOptions decoder_options(models::Family family) {
  auto options = models::family_defaults(family);
  options.head = family->is_encoder_decoder ? models::Head::kConditional : models::Head::kCausalLm;
  options.vocabulary = kDecoderWords;
  options.dim = 16;
  options.layers = 2;
  options.heads = 2;
  options.key_value_heads = family == models::family_named("llama") ? 1 : 0;
  options.width = 32;
  options.length = 40;
  options.init_std = 0.6;
  options.eos_id = 3;
  if (family->is_encoder_decoder) {
    options.decoder.layers = 2;
    options.decoder.heads = 2;
    options.decoder.width = 32;
    options.decoder.decoder_start_id = 2;
  }
  return options;
}

/// Of several lengths.
inline std::vector<models::Prompt> decoder_prompts() {
  std::vector<models::Prompt> result;
  for (int64_t length = 1; length < 9; length += 2) {
    models::Prompt prompt{.tokens = {2}, .index = length, .max_new_tokens = 12};
    for (int64_t i = 0; i < length; ++i) {
      prompt.tokens.push_back(5 + (7 * length + 3 * i) % 15);
      prompt.source.push_back(4 + (5 * length + 2 * i) % 16);
    }
    result.push_back(std::move(prompt));
  }
  return result;
}

}  // namespace weft::test
