#include <algorithm>
#include <utility>

#include "models/encoder.h"
#include "models/stack_parts.h"
#include "nn/attention/attention.h"
#include "nn/document/sentence_decoder.h"

namespace weft::models {

namespace {

/// Layers beside those of the sentences: with these types, but norms and residuals as there.
nn::StackOptions stack_beside(const ModelOptions& options, int64_t layers, LayerTypes types) {
  auto own = options;
  own.window = {};
  own.layer_groups = std::min(options.layer_groups, layers);
  own.layer_types = std::move(types);
  own.layer_types.norm = options.layer_types.norm;
  own.layer_types.norm_place = options.layer_types.norm_place;
  own.layer_types.residual = options.layer_types.residual;
  return encoder_stack_of(own, layers);
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
                                .layers = stack_beside(options, document.layers, document.types),
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

nn::StackOptions sentence_decoder_of(const ModelOptions& options) {
  auto stack = stack_beside(options, options.document->decoder_layers, {});
  stack.positions = make_positions(options, {.heads = options.heads, .is_causal = true});
  for (auto& layer : stack.layers) {
    layer.order = "acf";
    layer.cross_attention = layer.attention;
    layer.make_cross_attention = nn::make_single_state_attention;
    layer.attention.is_causal = true;
  }
  return stack;
}

}  // namespace weft::models
