#include "nn/embedding/token_embedding.h"

#include "nn/embedding/embeddings.h"

namespace weft::nn {

namespace {

Registry<TokenEmbeddingDefinition>& token_embedding_registry() {
  static Registry<TokenEmbeddingDefinition> registry(
      "embedding type",
      {{{"words", read_word_embedding}, /*is_table=*/true},
       {{"characters", read_character_embedding}},
       {{"adaptive", read_adaptive_embedding}, /*is_table=*/false, /*has_clusters=*/true}});
  return registry;
}

}  // namespace

const Registry<TokenEmbeddingDefinition>& token_embeddings() { return token_embedding_registry(); }

void register_token_embedding(const TokenEmbeddingDefinition& definition) {
  token_embedding_registry().add(definition);
}

TokenEmbeddingMaker read_word_embedding(config::Section& /*section*/) {
  return [](const TokenEmbeddingOptions& options) {
    return std::make_shared<EmbeddingTableImpl>(options.vocabulary, options.dim, "words");
  };
}

}  // namespace weft::nn
