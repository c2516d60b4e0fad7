#include <algorithm>
#include <utility>

#include "models/encoder.h"
#include "models/stack_parts.h"
#include "nn/attention/attention.h"

namespace weft::models {

namespace {

nn::StackOptions document_stack_of(const ModelOptions& options) {
  const auto& document = *options.document;
  auto own = options;
  own.window = {};
  own.layer_groups = std::min(options.layer_groups, document.layers);
  own.layer_types = document.types;
  own.layer_types.norm = options.layer_types.norm;
  own.layer_types.norm_place = options.layer_types.norm_place;
  own.layer_types.residual = options.layer_types.residual;
  return encoder_stack_of(own, document.layers);
}

std::vector<nn::PositionChoice> document_positions_of(const DocumentOptions& document) {
  return document.types.positions.empty()
             ? std::vector{nn::default_component(nn::position_types(), "learned")}
             : document.types.positions;
}

}  // namespace

std::shared_ptr<nn::DocumentEncoder> make_document_encoder(const ModelOptions& options) {
  const auto& document = *options.document;
  const nn::PositionOptions side{.dim = options.dim,
                                 .hidden_dim = options.dim,
                                 .length = document.sentences,
                                 .heads = options.heads,
                                 .head_dim = head_dim(options)};
  return document.encoder.make({.dim = options.dim,
                                .sentence_layers = options.layers,
                                .layers = document_stack_of(options),
                                .make_positions =
                                    [side, choices = document_positions_of(document)] {
                                      nn::Positions positions;
                                      for (const auto& choice : choices) {
                                        positions.push_back(choice.make(side));
                                      }
                                      return positions;
                                    },
                                .sentence_vector = document.sentence_vector->make(
                                    {.dim = options.dim, .heads = options.heads})});
}

}  // namespace weft::models
