#include "models/heads.h"

#include <ATen/Functions.h>

#include "kernels/dropout.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"

namespace weft::models {

namespace {

kernels::Activation mlm_activation(const ModelOptions& options) {
  const auto& capabilities = capabilities_of(options.family);
  return capabilities.has_prediction_head
             ? options.head_activation
             : capabilities.mlm_activation.value_or(options.activation);
}

}  // namespace

MlmHeadImpl::MlmHeadImpl(const ModelOptions& options) : activation_(mlm_activation(options)) {
  const bool has_transform = capabilities_of(options.family).has_mlm_transform;
  const int64_t width = has_transform ? embedding_width(options) : states_dim(options);
  if (has_transform) {
    dense_ = register_module(
        "dense", nn::Linear(nn::LinearOptions{options.dim, width, options.biases.head}));
    norm_ = register_module("norm", nn::make_norm(norm_of(options, width)));
  }
  if (!has_output_matrix(options.layer_types)) {
    return;
  }
  if (!options.tie_word_embeddings) {
    decoder_ =
        register_module("decoder", nn::Linear(nn::LinearOptions{width, options.vocabulary, false}));
  }
  if (options.biases.mlm_output) {
    bias_ = register_parameter("bias", at::empty({options.vocabulary}));
  }
}

at::Tensor MlmHeadImpl::transform(const at::Tensor& rows) {
  return dense_ ? norm_->forward(kernels::activate(dense_->forward(rows), activation_)) : rows;
}

at::Tensor MlmHeadImpl::weight() const { return decoder_ ? decoder_->weight() : at::Tensor(); }

namespace {

/// Activation of the hidden layer before the classifier, if there is one.
std::optional<kernels::Activation> inner_activation(const ModelOptions& options) {
  const auto& head = head_of(options);
  const auto& capabilities = capabilities_of(options.family);
  if (capabilities.has_prediction_head) {
    return options.head_activation;
  }
  if (head.detects_replaced_tokens) {
    return options.activation;
  }
  if (!head.classifies_sequences) {
    return std::nullopt;
  }
  return capabilities.classifier_uses_stack_activation ? options.activation
                                                       : capabilities.classifier_activation;
}

}  // namespace

ClassificationHeadImpl::ClassificationHeadImpl(const ModelOptions& options)
    : activation_(inner_activation(options)),
      has_input_dropout_(capabilities_of(options.family).has_classifier_input_dropout) {
  if (activation_) {
    dense_ = register_module("dense", nn::Linear(nn::LinearOptions{states_dim(options), options.dim,
                                                                   options.biases.head}));
  }
  if (capabilities_of(options.family).has_prediction_head) {
    norm_ = register_module("norm", nn::make_norm(norm_of(options, options.dim)));
  }
  const auto width = dense_ ? options.dim : states_dim(options);
  output_ = register_module("output", nn::Linear(nn::LinearOptions{width, head_outputs(options)}));
}

at::Tensor ClassificationHeadImpl::forward(const at::Tensor& rows,
                                           double dropout,
                                           const kernels::RngKey& outer,
                                           const kernels::RngKey& inner) {
  const bool drops_outer = has_input_dropout_ || !dense_;
  auto features = kernels::dropout(rows, drops_outer ? dropout : 0.0, outer);
  if (dense_) {
    const auto transformed = kernels::activate(dense_->forward(features), *activation_);
    features = kernels::dropout(norm_ ? norm_->forward(transformed) : transformed, dropout, inner);
  }
  return output_->forward(features);
}

at::Tensor classify_rows(const ModelOptions& options,
                         nn::Pooler pooler,
                         ClassificationHead head,
                         const at::Tensor& rows,
                         const nn::ForwardContext& context) {
  const bool uses_pooler = pooler && capabilities_of(options.family).classifier_uses_pooler;
  return head->forward(uses_pooler ? pooler->forward(rows) : rows,
                       context.rate(classifier_dropout(options)),
                       context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead)),
                       context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHeadInner)));
}

}  // namespace weft::models
