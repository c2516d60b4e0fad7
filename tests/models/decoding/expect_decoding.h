#pragma once

#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/encoder_decoder_parts.h"
#include "models/inference.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::test {

/// A decoder, which packs the weights, gives the logits of a whole pass. Leaves a model that can
/// only decode.
inline void expect_decoded_as_read(models::Model& model) {
  const std::vector<int64_t> tokens = {3, 5, 6};
  const bool has_source = models::is_encoder_decoder(model.options());
  const std::vector<models::Prompt> prompts = {
      {.tokens = tokens,
       .source = has_source ? std::vector<int64_t>{5, 6, 2} : std::vector<int64_t>{}}};
  auto context = context_of({0, 3});
  nn::EncoderStates encoder_states;
  if (has_source) {
    encoder_states = {
        .states = model.encode({.ids = at::tensor(prompts[0].source, at::kLong), .patches = {}},
                               context_of({0, 3})),
        .layout = context_of({0, 3}).layout};
    context.encoder_states = &encoder_states;
  }
  const models::TextInput input{.ids = at::tensor(tokens, at::kLong)};
  const auto expected =
      model.lm_logits({model.hidden(input, context), model.histories(input, context)})[2];
  models::prepare_for_inference(model, {.device = at::kCPU, .type = at::kFloat});
  const auto output = models::prepare_for_decoding(model);
  models::ModelDecoder decoder(model, output, prompts);
  EXPECT_TRUE(near(decoder.first()[0], expected, 1e-4));
}

}  // namespace weft::test
