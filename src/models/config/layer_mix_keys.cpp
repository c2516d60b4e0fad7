#include <optional>

#include "base/string_util.h"
#include "models/config/stack_keys.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

constexpr auto kMixKey = "mix";
constexpr auto kWeightDropoutKey = "weight_dropout";

}  // namespace

void read_layer_mix(config::Section& model, LayerTypes& types) {
  auto section = model.section(kMixKey, {.help = "Which layers the head, or a decoder, reads."});
  bool mixes = types.mix.has_value();
  const config::Choices<bool> types_by_word = {{"none", false}, {"transparent", true}};
  section.read_choice(
      "type", mixes, types_by_word,
      {.help = "none: the last layer. transparent: each layer of a decoder reads a mix of all "
               "encoder layers, the embeddings included, with learned weights (arXiv:1808.07561); "
               "without a decoder, the head reads one such mix."});
  auto mix = types.mix.value_or(nn::LayerMixOptions());
  if (mixes || section.is_documenting()) {
    auto own = section.only_with("type: transparent");
    own.read(kWeightDropoutKey, mix.weight_dropout,
             {.help = "Dropout probability of the logits of the weights, before their softmax.",
              .range = config::half_open(0, 1)});
  } else if (section.has(kWeightDropoutKey)) {
    section.fail(kWeightDropoutKey, "has no effect with type: none");
  }
  types.mix = mixes ? std::optional(mix) : std::nullopt;
  if (mixes && types.halting && !section.is_documenting()) {
    section.fail("type", "is not possible with halting");
  }
  if (mixes && nn::shortens_sequences(types.block)) {
    section.fail("type", "is not possible with layers that shorten the texts");
  }
  section.reject_unread();
}

void read_layer_mix(const JsonFields& fields, LayerTypes& types) {
  if (fields.has(kMixKey)) {
    const JsonFields mix(fields.at(kMixKey), str_cat(fields.place(), ": ", kMixKey));
    types.mix = nn::LayerMixOptions();
    mix.read(kWeightDropoutKey, types.mix->weight_dropout, 0.0, 1.0);
  }
}

void write_layer_mix(formats::Json& json, const LayerTypes& types) {
  if (types.mix) {
    json[kMixKey] = {{kWeightDropoutKey, types.mix->weight_dropout}};
  }
}

}  // namespace weft::models
