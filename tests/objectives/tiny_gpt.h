#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/config/presets.h"
#include "models/directory.h"
#include "support/toy_tokenizer.h"

namespace weft::test {

inline constexpr int64_t kGptLength = 24;

/// A decoder whose choices have clearly different scores.
inline models::ModelOptions tiny_gpt_options() {
  auto options = models::family_defaults(models::family_named("gpt2"));
  options.head = models::Head::kCausalLm;
  options.vocabulary = 20;
  options.dim = 16;
  options.layers = 2;
  options.heads = 2;
  options.width = 32;
  options.length = kGptLength;
  options.init_std = 0.6;
  options.bos_id = 2;
  options.eos_id = 3;
  return options;
}

/// With random weights over the words of `gpt_words`.
inline std::shared_ptr<models::Model> tiny_gpt(uint64_t seed = 3) {
  return models::make_model(tiny_gpt_options(), seed);
}

inline ToyTokenizer gpt_words() {
  return ToyTokenizer({"the", "cat", "dog", "sat", "ran", "on", "mat", "red", "big", "##s", "##ing",
                       "a", "of", "by", "."});
}

}  // namespace weft::test
