#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/encoder_decoder_parts.h"
#include "models/families/families.h"
#include "models/families/t5_kind.h"

namespace weft::models {

namespace {

/// arXiv:2101.03961; the published models of transformers.
ModelOptions switch_defaults() {
  auto options = sized_encoder_decoder(t5_family::defaults(), {768, 12, 12, 3072});
  options.mixture = {.experts = 8,
                     .top = 1,
                     .normalizes = false,
                     .balance_loss = 0.001,
                     .z_loss = 0.001,
                     .jitter = 0.01,
                     .expert_capacity = 64};
  options.sparse = {.encoder_layers = 6, .decoder_layers = 6};
  return options;
}

std::vector<Preset> switch_presets() {
  auto mini = sized_encoder_decoder(switch_defaults(), {384, 4, 8, 1536});
  mini.head_dim = 32;
  mini.sparse = {.encoder_layers = 2, .decoder_layers = 2};
  return {{"switch-mini", mini}, {"switch-base-8", switch_defaults()}};
}

/// Whether layer `layer` of a stack with `sparse` sparse layers among `layers` is one of them. In
/// transformers 0 is the same as 1.
bool is_sparse_layer(int64_t layer, int64_t layers, int64_t sparse) {
  const auto step = layers / std::max<int64_t>(1, sparse);
  return step == 1 || (step > 1 && layer % step == 1);
}

/// Layers of the decoder follow those of the encoder.
bool has_experts(const ModelOptions& options, int64_t layer) {
  return layer < options.layers
             ? is_sparse_layer(layer, options.layers, options.sparse.encoder_layers)
             : is_sparse_layer(layer - options.layers, options.decoder.layers,
                               options.sparse.decoder_layers);
}

nn::FeedForwardMaker switch_feed_forward(const ModelOptions& options, int64_t layer) {
  if (!has_experts(options, layer)) {
    return nn::make_standard_feed_forward;
  }
  return [own = options.mixture](const nn::FeedForwardOptions& feed_forward) {
    return nn::make_mixture_of_experts(feed_forward, own);
  };
}

void read_switch_experts(LayerPartSection& part, ModelOptions& options, const ModelOptions* base) {
  auto& section = part.shared();
  const auto type = read_feed_forward_types(
      part,
      {.family_types = {"mixture_of_experts"},
       .default_type = "mixture_of_experts",
       .layers = options.layers,
       .help = "The type of the feed-forward of sparse layers, or of all layers."},
      options.layer_types);
  if (type != "mixture_of_experts" && !section.is_documenting()) {
    return;
  }
  auto& own = options.mixture;
  own = nn::read_mixture_options(section, own);
  section.read("sparse_layers", options.sparse.encoder_layers,
               {.help = "Layers of the encoder with experts; the others have one feed-forward.",
                .unit = "layers",
                .range = config::between(1, kMostLayers)});
  section.read("sparse_decoder_layers", options.sparse.decoder_layers,
               {.help = "Layers of the decoder with experts.",
                .unit = "layers",
                .range = config::between(1, kMostLayers)});
  if (own.top != 1 || own.normalizes) {
    section.fail("top", "must be 1, with normalize: false, for switch_transformers");
  }
  if (base != nullptr) {
    require_unchanged(section, "experts",
                      own.experts == base->mixture.experts && options.sparse == base->sparse);
  }
}

void read_switch_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_encoder_decoder_keys(section, options, base,
                            {.has_relative = true, .read_feed_forward = read_switch_experts});
  if (options.is_gated) {
    section.fail("gated", "found true, must be false for switch_transformers");
  }
  if (!options.tie_word_embeddings) {
    section.fail("tie_word_embeddings", "found false, must be true for switch_transformers");
  }
}

/// The keys that T5 does not have.
void read_experts_json(const JsonFields& fields, ModelOptions& options) {
  options.sparse = {.encoder_layers = 3, .decoder_layers = 3};
  options.mixture = switch_defaults().mixture;
  auto& own = options.mixture;
  fields.read("num_sparse_encoder_layers", options.sparse.encoder_layers, int64_t{0}, kMostLayers);
  fields.read("num_sparse_decoder_layers", options.sparse.decoder_layers, int64_t{0}, kMostLayers);
  fields.read("num_experts", own.experts, int64_t{1}, nn::kMostExperts);
  int64_t capacity = 64;
  fields.read("expert_capacity", capacity, int64_t{1}, kMostTokens);
  own.expert_capacity = capacity;
  fields.read("router_jitter_noise", own.jitter, 0.0, 1.0);
  fields.read("router_z_loss_coef", own.z_loss, 0.0, 1e6);
  fields.read("router_aux_loss_coef", own.balance_loss, 0.0, 1e6);
  bool has_bias = false;
  fields.read("router_bias", has_bias);
  if (has_bias) {
    fields.fail("router_bias", "found true, must be false");
  }
  if (options.is_gated) {
    fields.fail("is_gated_act", "found true, must be false");
  }
  bool is_tied = true;  // else encoder and decoder have embeddings of their own, too
  fields.read("tie_word_embeddings", is_tied);
  if (!is_tied) {
    fields.fail("tie_word_embeddings", "found false, must be true");
  }
}

void write_experts_json(formats::Json& json, const ModelOptions& options) {
  const auto& own = options.mixture;
  json["num_sparse_encoder_layers"] = options.sparse.encoder_layers;
  json["num_sparse_decoder_layers"] = options.sparse.decoder_layers;
  json["num_experts"] = own.experts;
  json["expert_capacity"] = own.expert_capacity.value_or(options.length);
  json["router_bias"] = false;
  json["router_jitter_noise"] = own.jitter;
  json["router_z_loss_coef"] = own.z_loss;
  json["router_aux_loss_coef"] = own.balance_loss;
}

void add_switch_feed_forward(WeightMapBuilder& builder,
                             const ModelOptions& options,
                             int64_t layer,
                             const std::string& parameter,
                             const std::string& hf_name) {
  const auto width = layer < options.layers ? options.width : options.decoder.width;
  const auto add = [&](const std::string& own, const std::string& name) {
    builder.linear(parameter + own + "up", hf_name + name + "wi", {options.dim, width, false});
    builder.linear(parameter + own + "down", hf_name + name + "wo", {width, options.dim, false});
  };
  if (!has_experts(options, layer)) {
    add("", "mlp.");
    return;
  }
  builder.linear(parameter + "router", hf_name + "mlp.router.classifier",
                 {options.dim, options.mixture.experts, false});
  for (int64_t e = 0; e < options.mixture.experts; ++e) {
    add(str_cat("expert_", e, "."), str_cat("mlp.experts.expert_", e, "."));
  }
}

}  // namespace

FamilyDefinition switch_transformers() {
  auto made =
      t5_family::definition({NormPlacement::kPre, "switch_transformers", "", "SwitchTransformers"},
                            add_switch_feed_forward);
  made.defaults = switch_defaults;
  made.presets = switch_presets;
  made.read_keys = read_switch_keys;
  made.read_json = [read_t5 = made.read_json](const auto& fields, auto& options) {
    read_t5(fields, options);
    read_experts_json(fields, options);
  };
  made.write_json = [write_t5 = made.write_json](auto& json, const auto& options) {
    write_t5(json, options);
    write_experts_json(json, options);
  };
  made.initializer = [of_t5 = made.initializer](const auto& parameter, const auto& options) {
    return parameter.ends_with("router.weight") ? Initializer{.init_std = options.init_std}
                                                : of_t5(parameter, options);
  };
  made.feed_forward = switch_feed_forward;
  return made;
}

}  // namespace weft::models
