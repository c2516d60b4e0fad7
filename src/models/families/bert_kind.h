#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/weights/names.h"

/// What the encoders of BERT's kind share: keys, words of config.json, names.
namespace weft::models::bert_kind {

void read_keys(config::Section& section, ModelOptions& options, const ModelOptions* base);

/// What the config classes of transformers call the same things.
struct Words {
  std::string_view dim = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view width = "intermediate_size";
  std::string_view activation = "hidden_act";
  std::string_view dropout = "hidden_dropout_prob";
  std::string_view attention_dropout = "attention_probs_dropout_prob";
  std::string_view epsilon = "layer_norm_eps";
};

/// config.json; `options` holds what absent keys mean.
void read_json(const JsonFields& fields, ModelOptions& options, const Words& words = {});
void write_json(formats::Json& json, const ModelOptions& options, const Words& words = {});

std::vector<StoredTensor> tensors(const ModelOptions& options);
std::vector<std::string> spellings(const StoredTensor& tensor, const ModelOptions& options);
bool is_harmless(std::string_view name, const ModelOptions& options);

}  // namespace weft::models::bert_kind
