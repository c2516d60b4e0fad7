#include "models/elmo.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/dropout.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "nn/dropout_sites.h"
#include "nn/layer_mix.h"

namespace weft::models {

namespace {

uint32_t layer_site(std::size_t layer, bool is_reverse) {
  return nn::site_id(static_cast<int64_t>(2 * layer) + (is_reverse ? 1 : 0),
                     nn::BlockDropoutSite::kAttentionOutput);
}

}  // namespace

int64_t elmo_direction_width(const ModelOptions& options) { return options.dim / 2; }

int64_t elmo_cell_width(const ModelOptions& options) {
  return options.elmo.width > 0 ? options.elmo.width : elmo_direction_width(options);
}

Elmo::Elmo(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  const auto& chosen = options.layer_types.embedding;
  embeddings_ = register_module(
      "embeddings",
      (chosen ? *chosen : nn::default_component(nn::token_embeddings(), "words"))
          .make({.vocabulary = options.vocabulary, .dim = elmo_direction_width(options)}));
  use_embedding(embeddings_, {.vocabulary = options.vocabulary});
  layers_ = register_module("layers", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    layers_->push_back(BidirectionalCells(
        nn::CellOptions{.dim = elmo_direction_width(options), .width = elmo_cell_width(options)},
        options.elmo.cell->make));
  }
  register_head();
}

void Elmo::register_head() {
  const auto& head = head_of(options_);
  if (head.predicts_neighbours) {
    const bool shares = shares_embedding(options_.layer_types, options_.tie_word_embeddings);
    register_output_layer(options_.layer_types, {.width = elmo_direction_width(options_),
                                                 .vocabulary = options_.vocabulary,
                                                 .tied = shares ? embeddings_ : nullptr});
    if (has_output_matrix(options_.layer_types)) {
      if (!options_.tie_word_embeddings) {
        output_ = register_parameter(
            "output", at::empty({options_.vocabulary, elmo_direction_width(options_)}));
      }
      bias_ = register_parameter("output_bias", at::empty({options_.vocabulary}));
    }
  }
  if (head.has_classes()) {
    mix_ = register_parameter("mix", at::empty({options_.layers + 1}));
    scale_ = register_parameter("mix_scale", at::empty({1}));
    head_ = register_module("head",
                            nn::Linear(nn::LinearOptions{options_.dim, head_outputs(options_)}));
  }
  if (head.classifies_sequences) {
    const auto& pooling = options_.layer_types.pooling;
    pooling_ = register_module(
        "pooling", (pooling ? *pooling : nn::default_component(nn::sequence_poolings(), "mean"))
                       .make({.dim = options_.dim}));
  }
}

void Elmo::fit(const TrainingSequences& data) {
  auto own = data;
  own.visit = [&](const auto& visitor) {
    data.visit([&](const TrainingSequence& sequence) {  // every token is predicted
      visitor({.ids = sequence.ids, .targets = sequence.ids});
    });
  };
  Model::fit(own);
}

std::vector<at::Tensor> Elmo::states(const at::Tensor& x,
                                     bool is_reverse,
                                     const nn::ForwardContext& context) {
  std::vector<at::Tensor> layers = {x};
  for (std::size_t layer = 0; layer < layers_->size(); ++layer) {
    const auto& cells = layers_->at<BidirectionalCellsImpl>(layer);
    const auto& input = layers.back();
    auto states =
        (is_reverse ? cells.backward : cells.forward)->token_states(input, is_reverse, context);
    if (layer > 0 && options_.elmo.has_residuals) {
      states = states + input;
    }
    layers.push_back(kernels::dropout(states, context.rate(options_.dropout),
                                      context.rng_key(layer_site(layer, is_reverse))));
  }
  return layers;
}

at::Tensor Elmo::mixed(const std::vector<at::Tensor>& layers) const {
  const auto count = static_cast<int64_t>(layers.size());
  const auto weights = mix_.defined() ? at::softmax(mix_, 0, at::kFloat) * scale_.to(at::kFloat)
                                      : at::full({count}, 1 / static_cast<double>(count),
                                                 layers.front().options().dtype(at::kFloat));
  if (!options_.elmo.normalizes_layers) {
    return nn::mix_layers(layers, weights.unsqueeze(1));
  }
  std::vector<at::Tensor> normalized;
  normalized.reserve(layers.size());
  for (const auto& layer : layers) {
    normalized.push_back(at::layer_norm(layer.to(at::kFloat), {options_.dim}));
  }
  return nn::mix_layers(normalized, weights.unsqueeze(1)).to(layers.front().scalar_type());
}

at::Tensor Elmo::hidden(const TextInput& input, const nn::ForwardContext& context) {
  TORCH_CHECK(context.decoding_state == nullptr, "ELMo reads whole texts");
  const auto x = kernels::dropout(embeddings_->forward(input.ids), context.rate(options_.dropout),
                                  context.rng_key(nn::site_id(nn::DropoutSite::kEmbedding)));
  const auto forward = states(x, /*is_reverse=*/false, context);
  const auto backward = states(x, /*is_reverse=*/true, context);
  if (head_of(options_).predicts_neighbours) {
    return at::cat({forward.back(), backward.back()}, 1);
  }
  std::vector<at::Tensor> layers;
  layers.reserve(forward.size());
  for (std::size_t k = 0; k < forward.size(); ++k) {
    layers.push_back(at::cat({forward[k], backward[k]}, 1));
  }
  return mixed(layers);
}

at::Tensor Elmo::token_features(const at::Tensor& rows) {
  TORCH_CHECK(head_of(options_).predicts_neighbours, architecture_of(options_),
              " does not predict tokens");
  return rows;
}

at::Tensor Elmo::output_weight() {
  TORCH_CHECK(head_of(options_).predicts_neighbours, architecture_of(options_),
              " does not predict tokens");
  return output_.defined() || !has_output_matrix(options_.layer_types) ? output_
                                                                       : embeddings_->weight();
}

at::Tensor Elmo::logits_of(const at::Tensor& rows,
                           const kernels::RngKey& key,
                           const nn::ForwardContext& context) {
  const double rate = context.rate(options_.classifier_dropout.value_or(options_.dropout));
  return head_->forward(kernels::dropout(rows, rate, key));
}

at::Tensor Elmo::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify sequences");
  return logits_of(pooling_->forward(hidden, context),
                   context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead)), context);
}

at::Tensor Elmo::token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_tokens, architecture_of(options_),
              " does not classify tokens");
  return logits_of(hidden, context.rng_key(nn::site_id(nn::DropoutSite::kHead)), context);
}

}  // namespace weft::models
