#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>

#include "formats/image.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/presets.h"
#include "models/encoder_decoder_parts.h"
#include "models/model.h"
#include "support/context.h"

namespace weft::test {

/// A tiny model of any family, with one of its heads.
inline models::ModelOptions smallest_options(models::Family family, models::Head head) {
  auto options = models::family_defaults(family);
  options.head = head;
  options.vocabulary = 20;
  options.dim = 8;
  options.layers = 2;
  options.heads = 2;
  options.width = 32;
  options.length = 12;
  options.eos_id = 2;
  options.init_std = 0.3;
  options.decoder.layers = 1;
  options.decoder.heads = 2;
  options.decoder.width = 12;
  options.funnel.block_sizes = {1, 1};
  options.funnel.decoder_layers = 1;
  options.key_value_heads = std::min<int64_t>(options.key_value_heads, 1);
  options.window = {};
  options.rope.partial_factor = 1;
  options.feed_forward_lm.hidden = options.dim;
  options.vision.image_size = 4;
  options.vision.patch_size = 2;
  options.vision.channels = 1;
  options.labels = {"no", "perhaps", "yes"};
  models::set_decoding_ids(options);
  return options;
}

/// One model for each head of each family.
inline std::vector<models::ModelOptions> every_head() {
  std::vector<models::ModelOptions> result;
  for (const auto& [name, family] : models::families()) {
    for (const auto& [head, suffix] : family->heads) {
      result.push_back(smallest_options(family, head));
    }
  }
  return result;
}

/// Two sequences, of 5 and of 4 tokens, or two images of 2 x 2 patches.
struct TwoSequences {
  explicit TwoSequences(const models::ModelOptions& options) {
    if (!models::reads_images(options)) {
      input.ids = at::tensor({5, 6, 7, 8, 2, 9, 10, 11, 2}, at::kLong);
      if (models::uses_token_type_ids(options)) {
        input.types = at::tensor({0, 0, 0, 1, 1, 0, 0, 1, 1}, at::kLong);
      }
      context = context_of({0, 5, 9});
      return;
    }
    std::vector<int64_t> image = {formats::kClassToken};
    if (options.vision.has_distillation_token) {
      image.push_back(formats::kDistillationToken);
    }
    for (int64_t patch = 0; patch < 4; ++patch) {
      image.push_back(formats::patch_id(patch / 2, patch % 2));
    }
    const auto tokens = static_cast<int64_t>(image.size());
    input.ids = at::tensor(image, at::kLong).repeat({2});
    input.patches = at::arange(32, at::kFloat).mul(0.7).sin().view({8, 4});
    context = context_of({0, tokens, 2 * tokens});
  }

  models::TextInput input;
  nn::ForwardContext context;
};

/// Of the tokens of TwoSequences, which an encoder-decoder has as its source, too.
inline nn::TokenStates states_of_two_sequences(models::Model& model) {
  const TwoSequences two(model.options());
  auto context = two.context;
  nn::EncoderStates encoder_states;
  if (models::is_encoder_decoder(model.options())) {
    encoder_states = {.states = model.encode({.ids = two.input.ids, .patches = {}}, two.context),
                      .layout = two.context.layout};
    context.encoder_states = &encoder_states;
  }
  return {model.hidden(two.input, context), model.histories(two.input, context)};
}

}  // namespace weft::test
