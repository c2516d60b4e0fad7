#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/weights/weight_map.h"

/// Shared parts of BERT-like encoders: keys, config.json, names.
namespace weft::models::bert_family {

void read_keys(config::Section& section, ModelOptions& options, const ModelOptions* base);

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
};

/// Reads config.json; `options` contains the values of absent keys.
void read_json(const JsonFields& fields, ModelOptions& options, const JsonKeys& keys = {});
void write_json(formats::Json& json, const ModelOptions& options, const JsonKeys& keys = {});

std::vector<StoredTensor> tensors(const ModelOptions& options);
std::vector<std::string> name_aliases(const StoredTensor& tensor, const ModelOptions& options);
bool is_ignorable(std::string_view name, const ModelOptions& options);

}  // namespace weft::models::bert_family
