#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/directory.h"
#include "models/family_definition.h"
#include "support/toy_tokenizer.h"

namespace weft::test {

inline constexpr int64_t kGptLength = 24;

/// A decoder of random weights over the words of `gpt_words`.
inline std::shared_ptr<models::Model> tiny_gpt(uint64_t seed = 3) {
  auto options = models::definition_of(models::Family::kGpt2).defaults();
  options.head = models::Head::kCausalLm;
  options.vocabulary = 20;
  options.dim = 16;
  options.layers = 2;
  options.heads = 2;
  options.width = 32;
  options.length = kGptLength;
  options.deviation = 0.6;  // choices far apart
  options.begin_id = 2;
  options.end_id = 3;
  return models::make_model(options, seed);
}

inline ToyTokenizer gpt_words() {
  return ToyTokenizer({"the", "cat", "dog", "sat", "ran", "on", "mat", "red", "big", "##s", "##ing",
                       "a", "of", "by", "."});
}

}  // namespace weft::test
