#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "nn/component.h"
#include "nn/frequency_clusters.h"

namespace weft::nn {

struct TokenEmbeddingOptions {
  int64_t vocabulary = 0;  // V
  int64_t dim = 0;         // D
};

/// Vectors of tokens in clusters by falling frequency. The tensors are the parameters themselves.
struct TokenClusters {
  std::vector<int64_t> bounds;          // first ranks of the clusters after the first, and V
  std::vector<at::Tensor> words;        // of each cluster: (tokens of the cluster, W)
  std::vector<at::Tensor> projections;  // of each cluster: (D, W)
  std::vector<int64_t> ranks;           // V: the place of each token by falling frequency
};

/// Where the first values of a parameter come from.
struct InitialSpread {
  enum class Kind {
    kFamily,   // what the model's family says of the parameter's name
    kTable,    // what it says of a table of word embeddings
    kNormal,   // N(0, value^2)
    kUniform,  // U(-value, value)
  };
  Kind kind = Kind::kFamily;
  double value = 0;
};

/// Vectors of tokens.
class TokenEmbedding : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& ids) = 0;  // (N) int64 -> (N, D)
  /// The vectors of all tokens, (V, D), of a type that stores them; else undefined.
  virtual at::Tensor weight() const { return {}; }
  /// Of a type whose tokens are in clusters; else nullptr.
  virtual const TokenClusters* clusters() const { return nullptr; }
  /// Of a matrix among its parameters, by the name in this module or below it.
  virtual InitialSpread initial_spread(const std::string& /*parameter*/,
                                       const at::Tensor& /*value*/) const {
    return {};
  }
  /// Whether fit() needs the counts of the tokens.
  virtual bool needs_counts() const { return false; }
  /// Sets the buffers, before training.
  virtual void fit(const TokenStatistics& /*statistics*/) {}
  /// Called when stored buffers were read. Throws UserError for values that are not possible.
  virtual void finish_loading() {}
};

struct TokenEmbeddingDefinition : ComponentDefinition<TokenEmbedding, TokenEmbeddingOptions> {
  bool is_table = false;      // it has TokenEmbedding::weight, which can be the output matrix, too
  bool has_clusters = false;  // it has TokenEmbedding::clusters
};
using TokenEmbeddingMaker = TokenEmbeddingDefinition::Maker;
using TokenEmbeddingChoice = TokenEmbeddingDefinition::Choice;

/// The values of `model.embedding.type`.
const Registry<TokenEmbeddingDefinition>& token_embeddings();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_token_embedding(const TokenEmbeddingDefinition& definition);

/// A table of vectors.
TokenEmbeddingMaker read_word_embedding(config::Section& section);
/// A convolutional network over the characters of a token (arXiv:1508.06615), in the form of ELMo
/// (arXiv:1802.05365): tokens that are spelled alike have similar vectors.
TokenEmbeddingMaker read_character_embedding(config::Section& section);
/// Vectors of fewer dimensions for rare tokens (arXiv:1809.10853).
TokenEmbeddingMaker read_adaptive_embedding(config::Section& section);

}  // namespace weft::nn
