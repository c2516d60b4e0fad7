#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/family_definition.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/config/shared_model_keys.h"
#include "models/weights/weight_map.h"

/// Shared parts of BERT-like encoders: keys, config.json, names.
namespace weft::models::bert_family {

void read_keys(config::Section& section,
               ModelOptions& options,
               const ModelOptions* base,
               const SharedModelKeys& keys = {.pooling = "cls", .has_sinusoids = true});

/// Names of the same options in the config classes of transformers.
struct JsonKeys {
  std::string_view dim = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view width = "intermediate_size";
  std::string_view activation = "hidden_act";
  std::string_view dropout = "hidden_dropout_prob";
  std::string_view attention_dropout = "attention_probs_dropout_prob";
  std::string_view epsilon = "layer_norm_eps";

  /// Further keys of the family.
  void (*read_more)(const JsonFields& fields, ModelOptions& options) = nullptr;
  void (*write_more)(formats::Json& json, const ModelOptions& options) = nullptr;
};

/// Reads config.json; `options` contains the values of absent keys.
void read_json(const JsonFields& fields, ModelOptions& options, const JsonKeys& keys = {});
void write_json(formats::Json& json, const ModelOptions& options, const JsonKeys& keys = {});

/// Names of tensors in files, by default BERT's. Empty: the family has no such tensor.
struct WeightNames {
  std::string_view word = "embeddings.word_embeddings";
  std::string_view position = "embeddings.position_embeddings";
  std::string_view segment = "embeddings.token_type_embeddings";
  std::string_view embedding_norm = "embeddings.LayerNorm";
  std::string_view projection = {};
  std::string_view distances = {};  // ModelOptions::disentangled
  std::string_view distance_norm = {};
  std::string_view input_convolution = {};  // ModelOptions::input_convolution
  std::string_view input_convolution_norm = {};

  std::string_view layers = "encoder.layer.";  // before the number of the layer
  std::string_view layer_end = ".";            // and after it
  std::array<std::string_view, 3> query_key_value = {"attention.self.query", "attention.self.key",
                                                     "attention.self.value"};
  std::string_view fused_query_key_value = {};  // in place of these
  /// In place of these: the matrices of query, key and value of each head one after another, and
  /// the biases, of which keys have none.
  std::string_view interleaved_query_key_value = {};
  std::string_view query_bias = {};
  std::string_view value_bias = {};
  /// Of the global tokens, if they have projections of their own.
  std::array<std::string_view, 3> global_query_key_value = {};
  /// Of distances, if they have projections of their own.
  std::string_view distance_key = {};
  std::string_view distance_query = {};
  std::string_view attention_convolution = {};  // ModelOptions::nystrom
  std::string_view attention_output = "attention.output.dense";
  std::string_view up = "intermediate.dense";
  std::string_view down = "output.dense";
  std::string_view attention_norm = "attention.output.LayerNorm";  // after the sub-layer
  std::string_view feed_forward_norm = "output.LayerNorm";
  std::string_view pre_attention_norm = "attention.LayerNorm";  // before it, if pre-norm
  std::string_view pre_feed_forward_norm = "intermediate.LayerNorm";
  std::string_view final_norm = "LayerNorm";  // if pre-norm
  std::string_view pooler = "pooler.dense";

  // Masked language model.
  std::string_view mlm_dense = "cls.predictions.transform.dense";
  std::string_view mlm_norm = "cls.predictions.transform.LayerNorm";
  std::string_view mlm_decoder = "cls.predictions.decoder";
  std::string_view mlm_bias = "cls.predictions.bias";
  /// Second name of the bias, stored too when the matrix is not tied.
  std::string_view bias_copy = {};
  std::string_view tied_copy = {};  // name prefix of a redundant copy of the tied matrix in files

  // Classifiers.
  std::string_view dense = {};  // of every head, with this norm
  std::string_view norm = {};
  std::string_view sequence_dense = {};
  std::string_view sequence = "classifier";
  std::string_view token = "classifier";
  std::string_view span = "qa_outputs";
  std::string_view replaced_dense = {};
  std::string_view replaced = {};
};

/// RoBERTa's names, also of Longformer.
inline constexpr WeightNames kRobertaNames = {.mlm_dense = "lm_head.dense",
                                              .mlm_norm = "lm_head.layer_norm",
                                              .mlm_decoder = "lm_head.decoder",
                                              .mlm_bias = "lm_head.bias",
                                              .bias_copy = "lm_head.decoder.bias",
                                              .tied_copy = "lm_head.decoder.",
                                              .sequence_dense = "classifier.dense",
                                              .sequence = "classifier.out_proj"};

std::vector<StoredTensor> tensors(const ModelOptions& options, const WeightNames& names);

/// A BERT-like encoder with BERT's keys, initial values and heads; defaults and presets are set by
/// the family.
FamilyDefinition definition(const HfNames& hf_names,
                            const FamilyCapabilities& capabilities,
                            const WeightNames& names);
/// config.json with these keys; `absent`: the values of absent ones.
void set_json(FamilyDefinition& definition,
              const std::function<ModelOptions()>& absent,
              const JsonKeys& keys = {});

Initializer initializer(const std::string& parameter, const ModelOptions& options);

}  // namespace weft::models::bert_family
