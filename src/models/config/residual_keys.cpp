#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/component_json.h"
#include "models/config/family.h"
#include "models/config/layer_type_keys.h"
#include "models/config/stack_keys.h"
#include "nn/block.h"
#include "nn/residual_scale.h"

namespace weft::models {

namespace {

constexpr auto kResidualKey = "residual";
constexpr auto kPlain = "plain";
constexpr auto kReversible = "reversible";
constexpr auto kMergeKey = "merge";

const config::Choices<nn::StreamMerge>& stream_merges() {
  static const config::Choices<nn::StreamMerge> kWords = {
      {"mean", nn::StreamMerge::kMean}, {"concatenate", nn::StreamMerge::kConcatenate}};
  return kWords;
}

void read_merge(config::Section section, nn::StreamMerge& merge) {
  section.read_choice(kMergeKey, merge, stream_merges(),
                      {.help = "How the two streams end: their mean, or both one after another, "
                               "which gives the output layer twice the width."});
}

/// What the layers have that a reversible stack cannot.
std::string obstacle(const ModelOptions& options) {
  const auto& types = options.layer_types;
  if (types.norm_place.value_or(options.norm_placement) == NormPlacement::kPost) {
    return "needs norm.place pre, sandwich or none: a norm after the sum cannot be inverted";
  }
  if (options.is_parallel) {
    return "is not possible with parallel sub-layers, which read the same stream";
  }
  for (const auto letter : types.block) {
    const auto* const kind = nn::find_sublayer(letter);
    if (kind != nullptr && kind->replaces_stream) {
      return str_cat("is not possible with sub-layer `", letter, "` (", kind->description,
                     "), which replaces its input");
    }
  }
  if (carries_state(types)) {
    return "is not possible with layers that carry a state from step to step";
  }
  if (reads_layer_before(types)) {
    return "is not possible with attention that reads the scores of the layer before";
  }
  if (types.halting) {
    return "is not possible with halting";
  }
  if (types.mix) {
    return "is not possible with mix, which reads the states of all layers";
  }
  if (types.step_embedding) {
    return "is not possible with step_embedding, which is added to the states between layers";
  }
  return "";
}

/// Refuses what needs the input of a sub-layer after it.
void check_replaced_inputs(const config::Section& model, const ModelOptions& options) {
  const auto& residual = options.layer_types.residual;
  if (!residual || nn::keeps_input(residual->make)) {
    return;
  }
  const auto fail = [&](std::string_view key, std::string_view found) {
    model.fail(key,
               str_cat(found, " needs residual connections, found residual.type ", residual->type));
  };
  if (options.is_parallel) {
    fail(kResidualKey, "a model whose sub-layers are parallel");
  }
  if (has_reversible_layers(options)) {
    fail(kResidualKey, "a model whose layers are reversible");
  }
  if (options.stochastic_depth.drop_path_rate > 0) {
    fail("drop_path_rate", "skipping a sub-layer");
  }
  if (options.stochastic_depth.layerdrop > 0) {
    fail("layerdrop", "skipping a layer");
  }
}

}  // namespace

void read_residual(config::Section& model, LayerTypes& types) {
  auto section =
      model.section(kResidualKey, {.help = "The residual connections around the sub-layers."});
  const auto& registry = nn::residual_types();
  std::string type = types.reversible ? kReversible
                     : types.residual ? types.residual->type
                                      : kPlain;
  section.read_name(
      "type", type, type_names(registry, {kPlain, kReversible}),
      {.help = "How the output of a sub-layer is added to its input: as it is (plain), times a "
               "number (constant), a learned number that starts at 0 (rezero), or a learned vector "
               "that starts small (layer_scale). none: it takes the place of the input, as in a "
               "plain stack of recurrent layers. reversible: to one of two streams, computed from "
               "the other (arXiv:1707.04585), so that training keeps no activations of the "
               "layers."});
  read_gate(section, types);
  if (section.is_documenting()) {
    nn::StreamMerge merge{};
    read_merge(section.only_with("type: reversible"), merge);
    nn::document_components(section, "type", registry);
    return;
  }
  if (type == kReversible) {
    auto merge = types.reversible.value_or(nn::StreamMerge::kMean);
    read_merge(section, merge);
    types.reversible = merge;
    types.residual.reset();
  } else if (!types.residual || section.has("type")) {  // else that of init_from
    types.reversible.reset();
    types.residual.reset();
    if (type != kPlain) {
      types.residual = nn::read_component(section, registry.at(type));
    }
  }
  section.reject_unread();
}

void check_residual(config::Section& model, const ModelOptions& options) {
  if (model.is_documenting()) {
    return;
  }
  check_replaced_inputs(model, options);
  check_gate(model, options);
  if (!has_reversible_layers(options)) {
    return;
  }
  const auto reason = obstacle(options);
  const auto& merge = options.layer_types.reversible;
  if (!merge) {  // the family's own
    if (!reason.empty()) {
      model.fail("type",
                 str_cat(word_of(options.family), ", whose layers are reversible, ", reason));
    }
    return;
  }
  const auto section = model.section(kResidualKey, {.help = ""});
  if (!reason.empty()) {
    section.fail("type", str_cat(kReversible, " ", reason));
  }
  if (*merge != nn::StreamMerge::kConcatenate) {
    return;
  }
  const bool is_causal = has_head(options.family, Head::kCausalLm);
  if (!is_causal) {
    section.fail(kMergeKey,
                 str_cat("found concatenate, must be mean for ", word_of(options.family)));
  }
  if (options.tie_word_embeddings) {
    section.fail(kMergeKey,
                 "concatenate needs tie_word_embeddings: false, as the states are wider than the "
                 "embeddings");
  }
}

void read_residual(const JsonFields& fields, LayerTypes& types) {
  if (!fields.has(kResidualKey)) {
    return;
  }
  const auto place = str_cat(fields.place(), ": ", kResidualKey);
  const JsonFields residual(fields.at(kResidualKey), place);
  std::string type;
  residual.read("type", type);
  if (type != kReversible) {
    types.residual = component_from_json(fields.at(kResidualKey), place, nn::residual_types());
    return;
  }
  types.reversible = nn::StreamMerge::kMean;
  read_choice_word(residual, kMergeKey, stream_merges(), *types.reversible);
}

void write_residual(formats::Json& json, const LayerTypes& types) {
  if (types.residual) {
    json[kResidualKey] = json_of_component(*types.residual);
  } else if (types.reversible) {
    json[kResidualKey] = {{"type", kReversible},
                          {kMergeKey, choice_word(stream_merges(), *types.reversible)}};
  }
}

}  // namespace weft::models
