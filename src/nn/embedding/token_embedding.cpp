#include "nn/embedding/token_embedding.h"

#include <ATen/Functions.h>

#include "kernels/embedding.h"

namespace weft::nn {

namespace {

class WordEmbedding : public TokenEmbedding {
 public:
  explicit WordEmbedding(const TokenEmbeddingOptions& options)
      : words_(register_parameter("words", at::empty({options.vocabulary, options.dim}))) {}

  at::Tensor forward(const at::Tensor& ids) override {
    return kernels::embedding_sum(words_, ids, {}, {}, {}, {});
  }
  at::Tensor weight() const override { return words_; }

 private:
  at::Tensor words_;  // (V, D)
};

Registry<TokenEmbeddingDefinition>& token_embedding_registry() {
  static Registry<TokenEmbeddingDefinition> registry(
      "embedding type",
      {{"words", read_word_embedding, /*is_table=*/true},
       {"characters", read_character_embedding},
       {.name = "adaptive", .read = read_adaptive_embedding, .has_clusters = true}});
  return registry;
}

}  // namespace

const Registry<TokenEmbeddingDefinition>& token_embeddings() { return token_embedding_registry(); }

void register_token_embedding(const TokenEmbeddingDefinition& definition) {
  token_embedding_registry().add(definition);
}

TokenEmbeddingMaker read_word_embedding(config::Section& /*section*/) {
  return
      [](const TokenEmbeddingOptions& options) { return std::make_shared<WordEmbedding>(options); };
}

}  // namespace weft::nn
