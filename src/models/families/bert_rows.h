#pragma once

#include <span>
#include <string_view>

#include "models/config/options.h"

namespace weft::models {

enum class WeightKind { kLinear, kTable, kNorm, kVector };

/// A row of a weight map. `rows` and `columns` are the size letters (D, F, V, ...); `qkv_index`
/// selects query, key or value in their fused matrix.
struct WeightName {
  std::string_view parameter;
  std::string_view hf_name;
  WeightKind kind;
  char rows;
  char columns = 'D';
  int qkv_index = 0;
};

using WeightNames = std::span<const WeightName>;

/// Tensor names of a BERT-like encoder. Heads that it lacks have no rows.
struct BertWeightNames {
  WeightNames embeddings;
  std::string_view layers;  // prefix of the layer number
  WeightNames layer;
  WeightNames final_norm = {};  // norm after the layers
  WeightNames pooler = {};
  WeightNames mlm = {};       // masked language model
  WeightNames nsp = {};       // next sentence
  WeightNames sequence = {};  // sequence classifier
  WeightNames token = {};
  WeightNames span = {};
  WeightNames replaced = {};
  /// Second name of the output bias, stored too when the matrix is not tied.
  std::string_view bias_copy = {};
  std::string_view tied_copy = {};  // name prefix of a redundant copy of the tied matrix in files
};

const BertWeightNames& bert_weight_names(const ModelOptions& options);

}  // namespace weft::models
