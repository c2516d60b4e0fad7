#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "kernels/attention/rotary.h"
#include "kernels/layout.h"
#include "nn/attention/attention.h"
#include "nn/component.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Settings of the model that all position types share.
struct PositionOptions {
  int64_t dim = 0;         // E, of the word embeddings
  int64_t hidden_dim = 0;  // D, of the layers
  int64_t length = 0;      // maximum sequence length
  int64_t offset = 0;      // rows of a table before that of the first token (RoBERTa: pad id + 1)
  int64_t heads = 0;       // H
  int64_t head_dim = 0;    // K
  bool is_causal = false;  // a decoder
};

/// Rows of a table to add to the word embeddings.
struct PositionRows {
  at::Tensor table;  // (P, D)
  at::Tensor rows;   // (N) int64
};

/// Positions that are added to the word embeddings.
class PositionEmbedding : public torch::nn::Module {
 public:
  virtual PositionRows rows(const kernels::Layout& layout) = 0;
};

/// Distances of query and key that are added to the attention scores. All layers of a stack share
/// them.
class PositionBias : public torch::nn::Module {
 public:
  /// kernels::AttentionSettings::distance_bias for sequences up to `longest`:
  /// (H, 2 longest - 1) fp32.
  virtual at::Tensor forward(int64_t longest, const at::Device& device) const = 0;
};

/// Changes the embeddings of all tokens of a sequence.
class EmbeddingTransform : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, const kernels::Layout& layout) = 0;  // (N, D)
};

/// A vector for each distance between a query and a key. All layers of a stack share them.
class DistanceEmbedding : public torch::nn::Module {
 public:
  /// For sequences up to `longest`.
  virtual DistanceTable forward(int64_t longest) = 0;
};

/// Tensors that the modifiers of all layers read in ForwardContext::position_tensors.
class SharedPositions : public torch::nn::Module {
 public:
  /// For sequences up to `longest`.
  virtual std::map<std::string, at::Tensor> forward(int64_t longest, const at::Device& device) = 0;
};

/// Where the positions of a type enter a stack; all empty: nowhere.
struct Position {
  std::shared_ptr<PositionEmbedding> embedding = nullptr;
  std::shared_ptr<EmbeddingTransform> transform = nullptr;  // of the sum of embeddings
  kernels::RotaryOptions rotary = {};  // rotates queries and keys; theta 0: no rotation
  double local_theta = 0;              // theta of layers with is_local; 0: the same
  std::shared_ptr<PositionBias> bias = nullptr;
  PositionModifierMaker modifier = nullptr;           // a part of each layer's attention
  std::shared_ptr<SharedPositions> shared = nullptr;  // what these parts share
  std::shared_ptr<DistanceEmbedding> distances = nullptr;
  DistanceScoreOptions distance_scores = {};  // what the layers do with `distances`
  /// Terms of the scores beside the product of query and key, of the same variance: the scale is
  /// divided by the square root of the number of all terms.
  int64_t further_score_terms = 0;
};

/// Positions of a model, which are all applied.
using Positions = std::vector<std::shared_ptr<Position>>;

struct PositionDefinition : ComponentDefinition<Position, PositionOptions> {
  bool has_limit = true;  // PositionOptions::length is the maximum, not only that of training
};
using PositionMaker = PositionDefinition::Maker;
using PositionChoice = ComponentChoice<Position, PositionOptions>;

/// The values of `model.position.type`.
const Registry<PositionDefinition>& position_types();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_position(const PositionDefinition& definition);

/// The rotation of queries and keys in a layer; theta 0: none. Throws c10::Error for more than one.
kernels::RotaryOptions rotary_of(const Positions& positions, bool is_local);

}  // namespace weft::nn
