#include <optional>

#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/config/stack_keys.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

using config::Section;

constexpr auto kHaltingKey = "halting";
constexpr auto kStepEmbeddingKey = "step_embedding";

const config::Choices<nn::HaltingUnit>& halting_units() {
  static const config::Choices<nn::HaltingUnit> kWords = {{"token", nn::HaltingUnit::kToken},
                                                          {"sequence", nn::HaltingUnit::kSequence}};
  return kWords;
}

const config::Choices<nn::StepEmbeddingType>& step_embeddings() {
  static const config::Choices<nn::StepEmbeddingType> kWords = {
      {"sinusoidal", nn::StepEmbeddingType::kSinusoidal},
      {"learned", nn::StepEmbeddingType::kLearned}};
  return kWords;
}

void read_act(Section section, nn::HaltingOptions& halting) {
  section.read_choice("unit", halting.unit, halting_units(),
                      {.help = "What halts: each token on its own, or all tokens of a sequence."});
  section.read("epsilon", halting.epsilon,
               {.help = "A token halts when its probabilities add up to more than 1 - epsilon.",
                .range = config::half_open(0, 1)});
  section.read("loss_weight", halting.loss_weight,
               {.help = "Weight of the ponder loss: the mean number of layers plus remainder.",
                .range = config::between(0, 1000)});
  section.read("initial_bias", halting.initial_bias,
               {.help = "Bias of the halting probability at the start: the higher, the sooner.",
                .range = config::between(-100, 100)});
}

void check_halting(const Section& section, const ModelOptions& options) {
  const auto& types = options.layer_types;
  const bool is_causal =
      has_head(options.family, Head::kCausalLm) || has_head(options.family, Head::kConditional);
  if (types.halting->unit == nn::HaltingUnit::kSequence && is_causal) {
    section.fail("unit", "sequence is not possible here: a token must not depend on later ones");
  }
  if (reads_layer_before(types)) {
    section.fail("type",
                 "is not possible with attention that reads the scores of the layer before");
  }
  if (carries_state(types)) {
    section.fail("type", "is not possible with layers that carry a state from step to step");
  }
  if (draws_at_random(types)) {
    section.fail("type", "is not possible with attention that draws keys at random");
  }
  if (nn::shortens_sequences(types.block)) {
    section.fail("type", "is not possible with layers that shorten the texts");
  }
}

}  // namespace

void read_halting(Section& model, ModelOptions& options) {
  auto& types = options.layer_types;
  auto section = model.section(kHaltingKey, {.help = "Tokens that need fewer layers than others."});
  bool halts = types.halting.has_value();
  const config::Choices<bool> types_by_word = {{"none", false}, {"act", true}};
  section.read_choice("type", halts, types_by_word,
                      {.help = "act: adaptive computation time (arXiv:1603.08983), as in the "
                               "Universal Transformer (arXiv:1807.03819): after each layer a token "
                               "halts with a learned probability; `layers` is the most."});
  auto halting = types.halting.value_or(nn::HaltingOptions());
  if (halts || section.is_documenting()) {
    read_act(section.only_with("type: act"), halting);
  } else {
    for (const auto* key : {"unit", "epsilon", "loss_weight", "initial_bias"}) {
      if (section.has(key)) {
        section.fail(key, "has no effect with type: none");
      }
    }
  }
  types.halting = halts ? std::optional(halting) : std::nullopt;
  if (halts && !section.is_documenting()) {
    check_halting(section, options);
  }
  section.reject_unread();

  using Step = std::optional<nn::StepEmbeddingType>;
  config::Choices<Step> steps = {{"none", std::nullopt}};
  for (const auto& [word, type] : step_embeddings()) {
    steps.emplace_back(word, type);
  }
  model.read_choice(kStepEmbeddingKey, types.step_embedding, steps,
                    {.help = "What each layer adds to its input: sinusoids of the position and of "
                             "the layer (sinusoidal), or a learned vector of the layer, so that "
                             "layers that share their parameters know where they are."});
}

void read_halting(const JsonFields& fields, LayerTypes& types) {
  if (fields.has(kHaltingKey)) {
    const JsonFields halting(fields.at(kHaltingKey), str_cat(fields.place(), ": ", kHaltingKey));
    types.halting = nn::HaltingOptions();
    read_choice_word(halting, "unit", halting_units(), types.halting->unit);
    halting.read("epsilon", types.halting->epsilon, 0.0, 1.0);
    halting.read("loss_weight", types.halting->loss_weight, 0.0, 1e9);
    halting.read("initial_bias", types.halting->initial_bias, -1e9, 1e9);
  }
  if (fields.has(kStepEmbeddingKey)) {
    types.step_embedding = nn::StepEmbeddingType::kSinusoidal;
    read_choice_word(fields, kStepEmbeddingKey, step_embeddings(), *types.step_embedding);
  }
}

void write_halting(formats::Json& json, const LayerTypes& types) {
  if (types.halting) {
    json[kHaltingKey] = {{"unit", choice_word(halting_units(), types.halting->unit)},
                         {"epsilon", types.halting->epsilon},
                         {"loss_weight", types.halting->loss_weight},
                         {"initial_bias", types.halting->initial_bias}};
  }
  if (types.step_embedding) {
    json[kStepEmbeddingKey] = choice_word(step_embeddings(), *types.step_embedding);
  }
}

}  // namespace weft::models
