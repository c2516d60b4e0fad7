#include <vector>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/families/bert_kind.h"
#include "models/families/deberta_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

/// Each distance has a vector, which layers project without a bias of the keys.
ModelOptions deberta_v1_defaults() {
  ModelOptions options;
  options.type_vocab_size = 0;
  options.norm_epsilon = 1e-7;
  options.has_position_embeddings = false;
  options.disentangled =
      nn::DisentangledOptions{.scores = {.shares_projections = false, .has_key_bias = false},
                              .buckets = 0,
                              .has_norm = false};
  return options;
}

std::vector<Preset> deberta_v1_presets() {
  const auto begin = deberta_v1_defaults();
  return {{"deberta-base", sized(begin, {12, 768, 12})},
          {"deberta-large", sized(begin, {24, 1024, 16})},
          {"deberta-xlarge", sized(begin, {48, 1024, 16})}};
}

/// Values of absent config.json keys.
ModelOptions absent_deberta_v1() {
  auto options = deberta_v1_defaults();
  options.vocabulary = 50265;
  options.has_position_embeddings = true;
  options.disentangled.reset();
  return options;
}

void read_deberta_v1_position(config::Section& section,
                              ModelOptions& options,
                              const ModelOptions* base) {
  deberta_family::read_position(section, options, base);
  if (!options.disentangled || section.is_documenting()) {
    return;
  }
  const auto& own = *options.disentangled;
  const auto refuse = [&](bool is_foreign, const char* key, const auto& found,
                          const char* allowed) {
    if (is_foreign) {
      section.fail(key, str_cat(found, " is not supported by deberta, allowed is ", allowed));
    }
  };
  refuse(own.buckets != 0, "buckets", own.buckets, "0");
  refuse(own.scores.shares_projections, "share_projections", "true", "false");
  refuse(own.has_norm, "norm", "true", "false");
}

void read_deberta_v1_json(const JsonFields& fields, ModelOptions& options) {
  require(fields, "talking_head", false, "the heads of a layer are not mixed");
  deberta_family::read_json(fields, options);
  if (options.disentangled) {
    options.disentangled->scores.has_key_bias = false;
  }
}

}  // namespace

FamilyDefinition deberta_v1() {
  auto made = bert_family::definition({NormPlacement::kPost, "deberta", "deberta", "Deberta"},
                                      {.has_pooler = false,
                                       .has_segments = false,
                                       .classifier_activation = kernels::Activation::kGelu,
                                       .has_classifier_input_dropout = false,
                                       .has_key_bias = false},
                                      {.segment = {},
                                       .distances = "encoder.rel_embeddings",
                                       .interleaved_query_key_value = "attention.self.in_proj",
                                       .query_bias = "attention.self.q_bias",
                                       .value_bias = "attention.self.v_bias",
                                       .distance_key = "attention.self.pos_proj",
                                       .distance_query = "attention.self.pos_q_proj",
                                       .bias_copy = "cls.predictions.decoder.bias",
                                       .tied_copy = "cls.predictions.decoder.",
                                       .sequence_dense = "pooler.dense"});
  made.defaults = deberta_v1_defaults;
  made.presets = deberta_v1_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(section, options, base,
                           {.pooling = "cls", .read_position = read_deberta_v1_position});
  };
  bert_family::set_json(
      made, absent_deberta_v1,
      {.read_more = read_deberta_v1_json, .write_more = deberta_family::write_json});
  made.positions = deberta_family::positions;
  made.style = formats::TokenizerTemplate::kBertNoSegments;
  return made;
}

}  // namespace weft::models
