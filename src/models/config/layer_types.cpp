#include "models/config/layer_types.h"

#include <utility>

#include "base/string_util.h"
#include "config/section.h"
#include "models/config/choice_json.h"
#include "models/config/component_json.h"
#include "models/config/family.h"
#include "models/config/hf_config_fields.h"
#include "models/config/json_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/options.h"
#include "models/config/stack_keys.h"
#include "nn/embedding/token_embedding.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/stack.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr auto kLayersKey = "layers";
constexpr auto kNormKey = "norm";
constexpr auto kSharingKey = "sharing";
constexpr auto kSublayersKey = "sublayers";
constexpr auto kNormPlaceKey = "norm_place";
constexpr auto kPositionKey = "position";
constexpr auto kEmbeddingKey = "embedding";
constexpr auto kOutputKey = "output";
constexpr auto kPoolingKey = "classifier_pooling";

template <class Choice>
void write_choices(Json& json, const char* key, const PerLayer<Choice>& choices) {
  if (choices.empty()) {
    return;
  }
  Json cycle = Json::array();
  for (const auto& choice : choices.cycle) {
    cycle.push_back(json_of_component(choice));
  }
  Json ranges = Json::object();
  for (const auto& range : choices.ranges) {
    ranges[str_cat(range.first, "-", range.last)] = json_of_component(range.choice);
  }
  json[key] = {{"cycle", std::move(cycle)}, {kLayersKey, std::move(ranges)}};
}

template <class Definition>
void read_choices(const Json& json,
                  const std::string& key,
                  const std::string& place,
                  const Registry<Definition>& registry,
                  PerLayer<typename Definition::Choice>& choices) {
  if (!json.contains(key)) {
    return;
  }
  const auto where = str_cat(place, ": ", key);
  const JsonFields fields(json.at(key), where);
  if (fields.has("cycle")) {
    for (const auto& each : fields.at("cycle")) {
      choices.cycle.push_back(component_from_json(each, where, registry));
    }
  }
  if (fields.has(kLayersKey)) {
    for (const auto& [range, each] : fields.at(kLayersKey).items()) {
      const auto layers = parse_layer_range(range);
      if (!layers) {
        fields.fail(kLayersKey, str_cat("found '", range, "', expected layers as in 0-3"));
      }
      choices.ranges.push_back(
          {layers->first, layers->second, component_from_json(each, where, registry)});
    }
  }
}

/// The places of norms that no family has.
const config::Choices<nn::NormPlacement>& own_norm_places() {
  static const config::Choices<nn::NormPlacement> kWords = {
      {"sandwich", nn::NormPlacement::kSandwich}, {"none", nn::NormPlacement::kNone}};
  return kWords;
}

std::string order_in(const std::string& block, const std::string& family_order) {
  return nn::needs_encoder_states(family_order) ? block : nn::without_encoder_states(block);
}

/// Whether one of the attention types has the property.
bool has_attention(const LayerTypes& types, bool nn::AttentionDefinition::*property) {
  const auto has = [&](const nn::AttentionChoice& choice) {
    return nn::attention_types().at(choice.type).*property;
  };
  return std::ranges::any_of(types.attention.cycle, has) ||
         std::ranges::any_of(types.attention.ranges,
                             [&](const auto& range) { return has(range.choice); });
}

constexpr nn::OutputDefinition kShortlist = {
    .name = "shortlist", .read = read_shortlist_output, .needs_histories = true};

}  // namespace

nn::StackOptions with_layer_types(nn::StackOptions stack, const LayerTypes& types) {
  const auto orders = nn::block_orders(types.block);
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    auto& block = stack.layers[i];
    if (const auto* attention = types.attention.at(layer)) {
      block.make_attention = attention->make;
    }
    if (const auto* feed_forward = types.feed_forward.at(layer)) {
      block.make_feed_forward = feed_forward->make;
    }
    for (const auto& [name, choices] : types.sublayers) {
      if (const auto* sublayer = choices.at(layer)) {
        block.make_sublayer[name] = sublayer->make;
      }
    }
    if (!orders.empty()) {
      block.order = order_in(orders[i % orders.size()], block.order);
    }
    if (types.residual) {
      block.make_residual_scale = types.residual->make;
    }
    block.gate = types.gate;
    block.norm_placement = types.norm_place.value_or(block.norm_placement);
  }
  if (types.sharing) {
    stack.layer_groups =
        std::min(types.sharing->distinct, static_cast<int64_t>(stack.layers.size()));
    stack.cycles_layers = types.sharing->cycles;
    stack.shared_sublayers = types.sharing->sublayers;
  }
  stack.halting = types.halting;
  stack.step_embedding = types.step_embedding;
  if (types.reversible) {
    stack.reversible = types.reversible;
  }
  stack.mix = types.mix;
  if (types.norm_place) {
    stack.norm.reset();
    if (*types.norm_place == nn::NormPlacement::kSandwich && !stack.layers.empty()) {
      stack.norm = stack.layers.front().norm;
      stack.norm->dim *= stack.reversible == nn::StreamMerge::kConcatenate ? 2 : 1;
    }
  }
  return stack;
}

bool carries_state(const LayerTypes& types) {
  return nn::carries_state(types.block) ||
         has_attention(types, &nn::AttentionDefinition::carries_state);
}

bool carries_own_state(const LayerTypes& types) {
  return nn::carries_own_state(types.block) ||
         has_attention(types, &nn::AttentionDefinition::carries_state);
}

bool has_distinct_layer_types(const ModelOptions& options) {
  const auto& types = options.layer_types;
  const auto& window = options.window;
  const auto varies = [](const auto& choices) {
    return choices.cycle.size() > 1 || !choices.ranges.empty();
  };
  return window.first_layer > 0 || window.global_every > 1 || !window.layer_sizes.empty() ||
         options.scale_attn_by_inverse_layer_idx ||
         capabilities_of(options.family).has_layer_kinds ||
         capabilities_of(options.family).has_layer_blocks || varies(types.attention) ||
         varies(types.feed_forward) || nn::block_orders(types.block).size() > 1 ||
         std::ranges::any_of(types.sublayers,
                             [&](const auto& sublayer) { return varies(sublayer.second); });
}

bool reads_layer_before(const LayerTypes& types) {
  return has_attention(types, &nn::AttentionDefinition::reads_layer_before);
}

bool draws_at_random(const LayerTypes& types) {
  return has_attention(types, &nn::AttentionDefinition::draws_at_random);
}

bool has_output_matrix(const LayerTypes& types) {
  return !types.output || output_types().at(types.output->type).uses_output_matrix;
}

namespace {

std::vector<std::string> types_that_tie_clusters() {
  std::vector<std::string> names;
  for (const auto& definition : output_types().all()) {
    if (definition.tie_error != nullptr) {
      names.emplace_back(definition.name);
    }
  }
  return names;
}

}  // namespace

bool shares_embedding(const LayerTypes& types, bool is_tied) {
  return is_tied && types.output && types.embedding &&
         output_types().at(types.output->type).tie_error != nullptr &&
         nn::token_embeddings().at(types.embedding->type).has_clusters;
}

std::string tie_error(const LayerTypes& types, bool is_tied) {
  if (is_tied && types.embedding && has_output_matrix(types)) {
    const auto& definition = nn::token_embeddings().at(types.embedding->type);
    if (!definition.is_table) {
      return str_cat("true, must be false with embedding.type: ", definition.name,
                     ", which has no table of words to tie the output matrix to",
                     definition.has_clusters
                         ? str_cat("; possible with output.type: ", join(types_that_tie_clusters()))
                         : "");
    }
  }
  const auto reason = types.output ? output_types().at(types.output->type).tie_error : nullptr;
  if (reason == nullptr) {
    return "";
  }
  return reason(types.output->keys,
                shares_embedding(types, is_tied) ? &types.embedding->keys : nullptr);
}

std::vector<std::string> sublayer_names(const std::string& block, bool has_encoder) {
  const auto order = block.empty() ? "af" : block;
  std::vector<std::string> names;
  for (const auto& kind : nn::sublayer_kinds().all()) {
    if (order.find(kind.letter) != std::string::npos ||
        (has_encoder && kind.needs_encoder_states)) {
      names.emplace_back(kind.name);
    }
  }
  return names;
}

void write_layer_types(Json& json, const LayerTypes& types) {
  write_choices(json, "attention", types.attention);
  write_choices(json, "feed_forward", types.feed_forward);
  if (!types.block.empty()) {
    json["block"] = types.block;
  }
  for (const auto& [name, choices] : types.sublayers) {
    write_choices(json, name.c_str(), choices);
  }
  for (const auto& position : types.positions) {
    json[kPositionKey].push_back(json_of_component(position));
  }
  if (types.norm) {
    json[kNormKey] = json_of_component(*types.norm);
  }
  if (types.norm_place) {
    json[kNormPlaceKey] = choice_word(own_norm_places(), *types.norm_place);
  }
  if (types.sharing) {
    json[kSharingKey] = {{"layers", types.sharing->distinct}, {"cycle", types.sharing->cycles}};
    if (!types.sharing->sublayers.empty()) {
      json[kSharingKey][kSublayersKey] = types.sharing->sublayers;
    }
  }
  write_halting(json, types);
  write_layer_mix(json, types);
  write_residual(json, types);
  write_gate(json, types);
  if (types.embedding) {
    json[kEmbeddingKey] = json_of_component(*types.embedding);
  }
  if (types.output) {
    json[kOutputKey] = json_of_component(*types.output);
  }
  if (types.pooling) {
    json[kPoolingKey] = json_of_component(*types.pooling);
  }
}

LayerTypes read_layer_types(const Json& json, const std::string& place) {
  LayerTypes types;
  read_choices(json, "attention", place, nn::attention_types(), types.attention);
  read_choices(json, "feed_forward", place, nn::feed_forward_types(), types.feed_forward);
  const JsonFields fields(json, place);
  fields.read("block", types.block);
  if (!types.block.empty()) {
    if (const auto error = nn::block_error(types.block)) {
      fields.fail("block", *error);
    }
  }
  for (const auto* kind : nn::sublayers_with_keys(types.block)) {
    const std::string name(kind->name);
    auto& choices = types.sublayers[name];
    read_choices(json, name, place, nn::sublayer_kinds(), choices);
    if (choices.cycle.empty()) {
      fields.fail(name, str_cat("missing, block '", types.block, "' needs it"));
    }
  }
  if (fields.has(kPositionKey)) {
    for (const auto& each : fields.at(kPositionKey)) {
      types.positions.push_back(
          component_from_json(each, str_cat(place, ": ", kPositionKey), nn::position_types()));
    }
  }
  if (fields.has(kNormKey)) {
    types.norm =
        component_from_json(fields.at(kNormKey), str_cat(place, ": ", kNormKey), nn::norm_types());
  }
  if (fields.has(kNormPlaceKey)) {
    types.norm_place = nn::NormPlacement::kSandwich;
    read_choice_word(fields, kNormPlaceKey, own_norm_places(), *types.norm_place);
  }
  if (fields.has(kSharingKey)) {
    const JsonFields sharing(fields.at(kSharingKey), str_cat(place, ": ", kSharingKey));
    types.sharing = LayerSharing();
    sharing.read_size("layers", types.sharing->distinct, kMostLayers);
    sharing.read("cycle", types.sharing->cycles);
    if (sharing.has(kSublayersKey)) {
      const auto names = sublayer_names(types.block, /*has_encoder=*/true);
      for (const auto& each : sharing.at(kSublayersKey)) {
        if (!each.is_string() || std::ranges::find(names, each.get<std::string>()) == names.end()) {
          sharing.fail(kSublayersKey,
                       str_cat("found ", each.dump(), ", allowed are ", join(names)));
        }
        types.sharing->sublayers.push_back(each);
      }
    }
  }
  read_halting(fields, types);
  read_layer_mix(fields, types);
  read_residual(fields, types);
  read_gate(fields, types);
  if (fields.has(kEmbeddingKey)) {
    types.embedding = component_from_json(
        fields.at(kEmbeddingKey), str_cat(place, ": ", kEmbeddingKey), nn::token_embeddings());
  }
  if (fields.has(kOutputKey)) {
    types.output = component_from_json(fields.at(kOutputKey), str_cat(place, ": ", kOutputKey),
                                       output_types());
  }
  if (fields.has(kPoolingKey)) {
    types.pooling = component_from_json(fields.at(kPoolingKey), str_cat(place, ": ", kPoolingKey),
                                        nn::sequence_poolings());
  }
  return types;
}

const Registry<nn::OutputDefinition>& output_types() {
  [[maybe_unused]] static const bool is_added = [] {
    nn::register_output(kShortlist);
    return true;
  }();
  return nn::output_types();
}

}  // namespace weft::models
