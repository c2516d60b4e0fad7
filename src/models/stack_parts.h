#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/config/options.h"
#include "nn/document/document_encoder.h"
#include "nn/embedding/token_embedding.h"
#include "nn/norm/norm.h"
#include "nn/position/position.h"

/// Exchangeable parts of a whole model: those that its config names, otherwise those of its family.
namespace weft::models {

/// A norm of `dim` features.
nn::NormOptions norm_of(const ModelOptions& options, int64_t dim);

/// What makes the word embeddings that the config names; empty: a table.
nn::TokenEmbeddingMaker word_embedding_of(const ModelOptions& options);

/// Registers word embeddings under this name in a model: a parameter, or the module that the config
/// names.
std::shared_ptr<nn::TokenEmbedding> register_words(torch::nn::Module& model,
                                                   const std::string& name,
                                                   const ModelOptions& options,
                                                   const nn::TokenEmbeddingOptions& sizes);

/// The positions of one stack, for the stack and its embeddings. `side`: heads, is_causal; the rest
/// follows from the options.
nn::Positions make_positions(const ModelOptions& options, nn::PositionOptions side);

/// The document encoder of a model that has one (ModelOptions::document). Its layers are as those
/// of the model, with attention and positions of their own.
std::shared_ptr<nn::DocumentEncoder> make_document_encoder(const ModelOptions& options);

/// The decoder of such a model that predicts the tokens of a sentence from left to right, given its
/// state (arXiv:1905.06566, section 3.2).
nn::StackOptions sentence_decoder_of(const ModelOptions& options);

}  // namespace weft::models
