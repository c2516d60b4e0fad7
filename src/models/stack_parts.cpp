#include "models/stack_parts.h"

#include <ATen/Functions.h>

#include "models/config/family_definition.h"
#include "nn/embedding/embeddings.h"

namespace weft::models {

nn::NormOptions norm_of(const ModelOptions& options, int64_t dim) {
  const auto& own = options.layer_types.norm;
  return {.dim = dim,
          .epsilon = options.norm_epsilon,
          .has_bias = options.biases.norm,
          .make = own ? own->make
                      : nn::default_component(nn::norm_types(), options.family->norm_type).make};
}

nn::TokenEmbeddingMaker word_embedding_of(const ModelOptions& options) {
  const auto& own = options.layer_types.embedding;
  return own ? own->make : nn::TokenEmbeddingMaker();
}

std::shared_ptr<nn::TokenEmbedding> register_words(torch::nn::Module& model,
                                                   const std::string& name,
                                                   const ModelOptions& options,
                                                   const nn::TokenEmbeddingOptions& sizes) {
  if (const auto make = word_embedding_of(options)) {
    return model.register_module(name, make(sizes));
  }
  return std::make_shared<nn::EmbeddingTableImpl>(
      model.register_parameter(name, at::empty({sizes.vocabulary, sizes.dim})));
}

nn::Positions make_positions(const ModelOptions& options, nn::PositionOptions side) {
  side.dim = embedding_width(options);
  side.hidden_dim = options.dim;
  side.length = options.length;
  side.offset = position_offset(options);
  side.head_dim = options.head_dim > 0 ? options.head_dim : options.dim / side.heads;
  nn::Positions positions;
  for (const auto& choice : position_choices(options)) {
    positions.push_back(choice.make(side));
  }
  return positions;
}

}  // namespace weft::models
