#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/families/bert_kind.h"
#include "models/families/deberta_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using kernels::Activation;

constexpr int64_t kMostDistanceBuckets = 1 << 16;
constexpr int64_t kMostInputTaps = 1023;

/// Version 3 of the published models (arXiv:2111.09543).
ModelOptions deberta_defaults() {
  ModelOptions options;
  options.type_vocab_size = 0;
  options.norm_epsilon = 1e-7;
  options.has_position_embeddings = false;
  options.disentangled = nn::DisentangledOptions();
  return options;
}

std::vector<Preset> deberta_presets() {
  const auto begin = deberta_defaults();
  auto with_convolution = begin;  // version 2
  with_convolution.input_convolution = {.kernel = 3, .activation = Activation::kGelu};
  return {{"deberta-v3-mini", sized(begin, {4, 256, 4})},
          {"deberta-v3-xsmall", sized(begin, {12, 384, 6})},
          {"deberta-v3-small", sized(begin, {6, 768, 12})},
          {"deberta-v3-base", sized(begin, {12, 768, 12})},
          {"deberta-v3-large", sized(begin, {24, 1024, 16})},
          {"deberta-v2-xlarge", sized(with_convolution, {24, 1536, 24})},
          {"deberta-v2-xxlarge", sized(with_convolution, {48, 1536, 24})}};
}

/// Values of absent config.json keys.
ModelOptions absent_deberta() {
  auto options = deberta_defaults();
  options.vocabulary = 128100;
  options.dim = 1536;
  options.layers = 24;
  options.heads = 24;
  options.width = 6144;
  options.has_position_embeddings = true;
  options.disentangled.reset();
  return options;
}

void read_input_convolution(config::Section& model,
                            ModelOptions& options,
                            const ModelOptions* base) {
  auto section = model.section(
      "input_convolution",
      {.help = "A convolution of the embeddings beside the first layer, whose output it is added "
               "to (the largest models of deberta-v2)."});
  auto own = options.input_convolution.value_or(nn::InputConvolutionOptions{.kernel = 0});
  section.read("kernel_size", own.kernel,
               {.help = "Kernel size of the convolution; odd. 0: no convolution.",
                .unit = "tokens",
                .range = config::between(0, kMostInputTaps)});
  constexpr auto kOnly = "kernel_size: 1 and more";
  section.read("groups", own.groups,
               {.help = "Groups of features; must divide their number.",
                .range = config::between(1, kMostFeatures),
                .only_if = kOnly});
  section.read_choice("activation", own.activation, activations(),
                      {.help = "Activation function of the convolution.", .only_if = kOnly});
  section.reject_unread();
  for (const auto* key : {"groups", "activation"}) {
    if (own.kernel == 0) {
      section.reject_unused(key, "has no effect without kernel_size");
    }
  }
  if (own.kernel > 0 && own.kernel % 2 == 0) {
    section.fail("kernel_size", str_cat("found ", own.kernel, ", allowed are 0 and odd numbers"));
  }
  if (own.kernel > 0 && options.dim % own.groups != 0) {
    section.fail("groups", str_cat("found ", own.groups, ", must divide the ", options.dim,
                                   " features of model.dim"));
  }
  options.input_convolution = own.kernel > 0 ? std::optional(own) : std::nullopt;
  if (base != nullptr) {
    require_unchanged(section, "kernel_size", options.input_convolution == base->input_convolution);
  }
}

void read_convolution_json(const JsonFields& fields, ModelOptions& options) {
  nn::InputConvolutionOptions own{.kernel = 0};
  fields.read("conv_kernel_size", own.kernel, int64_t{0}, kMostInputTaps);
  if (own.kernel == 0) {
    options.input_convolution.reset();
    return;
  }
  if (own.kernel % 2 == 0) {
    fields.fail("conv_kernel_size", str_cat("found ", own.kernel, ", must be odd, or 0 for none"));
  }
  fields.read("conv_groups", own.groups, int64_t{1}, kMostFeatures);
  if (options.dim % own.groups != 0) {
    fields.fail("conv_groups", str_cat(own.groups, " does not divide hidden_size ", options.dim));
  }
  read_activation(fields, "conv_act", own.activation);
  options.input_convolution = own;
}

void read_deberta_json(const JsonFields& fields, ModelOptions& options) {
  deberta_family::read_json(fields, options);
  read_convolution_json(fields, options);
  if (!options.disentangled) {
    return;
  }
  auto& own = *options.disentangled;
  fields.read("share_att_key", own.scores.shares_projections);
  own.buckets = -1;
  fields.read("position_buckets", own.buckets, int64_t{-1}, kMostDistanceBuckets);
  own.buckets = std::max<int64_t>(own.buckets, 0);
  std::string norm = "none";
  fields.read("norm_rel_ebd", norm);
  own.has_norm = norm.find("layer_norm") != std::string::npos;
  if (own.buckets > 0 && own.max_distance <= own.buckets / 2 + 1) {
    fields.fail("position_buckets", str_cat(own.buckets, " must be less than twice the ",
                                            own.max_distance, " relative positions"));
  }
}

void write_deberta_json(formats::Json& json, const ModelOptions& options) {
  deberta_family::write_json(json, options);
  if (options.input_convolution) {
    const auto& convolution = *options.input_convolution;
    json["conv_kernel_size"] = convolution.kernel;
    json["conv_groups"] = convolution.groups;
    json["conv_act"] = hf_activation_name(convolution.activation);
  }
  if (options.disentangled) {
    const auto& own = *options.disentangled;
    json["share_att_key"] = own.scores.shares_projections;
    json["position_buckets"] = own.buckets > 0 ? own.buckets : -1;
    json["norm_rel_ebd"] = own.has_norm ? "layer_norm" : "none";
  }
}

}  // namespace

FamilyDefinition deberta() {
  auto made = bert_family::definition(
      {NormPlacement::kPost, "deberta-v2", "deberta", "DebertaV2"},
      {.has_pooler = false,
       .has_segments = false,
       .classifier_activation = Activation::kGelu,
       .has_classifier_input_dropout = false},
      {.segment = {},
       .distances = "encoder.rel_embeddings",
       .distance_norm = "encoder.LayerNorm",
       .input_convolution = "encoder.conv.conv",
       .input_convolution_norm = "encoder.conv.LayerNorm",
       .query_key_value = {"attention.self.query_proj", "attention.self.key_proj",
                           "attention.self.value_proj"},
       .distance_key = "attention.self.pos_key_proj",
       .distance_query = "attention.self.pos_query_proj",
       .bias_copy = "cls.predictions.decoder.bias",
       .tied_copy = "cls.predictions.decoder.",
       .sequence_dense = "pooler.dense",
       .replaced_dense = "discriminator_predictions.dense",
       .replaced = "discriminator_predictions.dense_prediction"});
  made.heads.push_back({Head::kReplacedToken, "ForPreTraining"});
  made.defaults = deberta_defaults;
  made.presets = deberta_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(section, options, base,
                           {.pooling = "cls", .read_position = deberta_family::read_position});
    read_input_convolution(section, options, base);
  };
  bert_family::set_json(made, absent_deberta,
                        {.read_more = read_deberta_json, .write_more = write_deberta_json});
  made.positions = deberta_family::positions;
  made.style = formats::TokenizerTemplate::kBertNoSegments;
  return made;
}

}  // namespace weft::models
