#include "base/string_util.h"
#include "models/families/families.h"
#include "models/families/llama_kind.h"

namespace weft::models {

namespace {

ModelOptions mixtral_defaults() {
  auto options = llama_family::defaults();
  options.mixture.balance_loss = 0.001;
  return options;
}

std::vector<Preset> mixtral_presets() {
  const auto sized = [](const llama_family::Size& size) {
    return llama_family::sized_decoder(mixtral_defaults(), size);
  };
  auto mini = sized({4, 256, 4, 2, 344, 512});
  mini.tie_word_embeddings = true;
  return {{"mixtral-mini", mini}, {"mixtral-8x7b", sized({32, 4096, 32, 8, 14336, 32768})}};
}

void read_experts(LayerPartSection& part, ModelOptions& options, const ModelOptions* base) {
  auto& section = part.shared();
  const auto type = read_feed_forward_types(part,
                                            {.family_types = {"mixture_of_experts"},
                                             .default_type = "mixture_of_experts",
                                             .layers = options.layers,
                                             .help = "The type of the feed-forward."},
                                            options.layer_types);
  if (type != "mixture_of_experts" && !section.is_documenting()) {
    return;
  }
  options.mixture = nn::read_mixture_options(section, options.mixture);
  if (base != nullptr) {
    require_unchanged(section, "experts", options.mixture.experts, base->mixture.experts);
  }
  if (!options.mixture.normalizes) {
    section.fail("normalize", "found false, must be true for mixtral");
  }
}

void read_mixtral_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto keys = llama_family::kKeys;
  keys.has_window = true;
  keys.read_feed_forward = read_experts;
  read_shared_model_keys(section, options, base, keys);
}

void read_mixtral_json(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.mixture;
  fields.read("num_local_experts", own.experts, int64_t{1}, nn::kMostExperts);
  fields.read("num_experts_per_tok", own.top, int64_t{1}, nn::kMostExperts);
  fields.read("router_aux_loss_coef", own.balance_loss, 0.0, 1e6);
  fields.read("router_jitter_noise", own.jitter, 0.0, 1.0);
  if (own.top > own.experts) {
    fields.fail("num_experts_per_tok", str_cat("found ", own.top, ", must be at most the ",
                                               own.experts, " of num_local_experts"));
  }
}

void write_mixtral_json(formats::Json& json, const ModelOptions& options) {
  json["num_local_experts"] = options.mixture.experts;
  json["num_experts_per_tok"] = options.mixture.top;
  json["router_aux_loss_coef"] = options.mixture.balance_loss;
  json["router_jitter_noise"] = options.mixture.jitter;
  json["output_router_logits"] = false;
}

void add_experts(WeightMapBuilder& builder,
                 const ModelOptions& options,
                 const std::string& parameter,
                 const std::string& hf_name) {
  const auto own = hf_name + "block_sparse_moe.";
  builder.linear(parameter + "feed_forward.router", own + "gate",
                 {options.dim, options.mixture.experts, false});
  for (int64_t e = 0; e < options.mixture.experts; ++e) {
    const auto expert = str_cat(parameter, "feed_forward.expert_", e, ".");
    const auto name = str_cat(own, "experts.", e, ".");
    builder.linear(expert + "up", name + "w1", {options.dim, options.width, false});
    builder.linear(expert + "up", name + "w3", {options.dim, options.width, false, options.width});
    builder.linear(expert + "down", name + "w2", {options.width, options.dim, false});
  }
}

constexpr llama_family::JsonKeys kMixtralJson = {.defaults = mixtral_defaults,
                                                 .norm_epsilon = 1e-5,
                                                 .theta = 1e6,
                                                 .default_window = 0,
                                                 .key_value_heads = 8,
                                                 .has_window = true,
                                                 .read_more = read_mixtral_json,
                                                 .write_more = write_mixtral_json};

}  // namespace

FamilyDefinition mixtral() {
  auto made = llama_family::definition({NormPlacement::kPre, "mixtral", "model", "Mixtral"},
                                       kMixtralJson, add_experts);
  made.presets = mixtral_presets;
  made.read_keys = read_mixtral_keys;
  made.feed_forward = [](const ModelOptions& options, int64_t /*layer*/) {
    return [own = options.mixture](const nn::FeedForwardOptions& feed_forward) {
      return nn::make_mixture_of_experts(feed_forward, own);
    };
  };
  return made;
}

}  // namespace weft::models
