#pragma once

#include <span>
#include <string_view>

#include "models/config/options.h"

namespace weft::models {

enum class RowKind { kLinear, kTable, kNorm, kVector };

/// A line of a name map. `rows` and `columns` are house letters of the sizes; `third` counts the
/// thirds of the fused matrix of query, key and value.
struct NameRow {
  std::string_view ours;
  std::string_view stored;
  RowKind kind;
  char rows;
  char columns = 'D';
  int third = 0;
};

using NameRows = std::span<const NameRow>;

/// What the tensors of an encoder of BERT's kind are called. Heads that it lacks have no rows.
struct NameTable {
  NameRows embeddings;
  std::string_view layers;  // before the number of a layer
  NameRows layer;
  NameRows after = {};  // what follows the layers
  NameRows pooler = {};
  NameRows guess = {};     // masked language model
  NameRows pair = {};      // next sentence
  NameRows sequence = {};  // classifier of sequences
  NameRows token = {};
  NameRows span = {};
  NameRows replaced = {};
  /// Another name of the bias of the output matrix: stored beside it when the matrix is not tied.
  std::string_view bias_copy = {};
  std::string_view tied_copy = {};  // how names begin under which files keep the tied matrix again
};

const NameTable& name_table(const ModelOptions& options);

}  // namespace weft::models
