#include "models/heads.h"

#include <ATen/Functions.h>

#include "kernels/dropout.h"
#include "models/config/modern.h"
#include "models/config/traits.h"

namespace weft::models {

namespace {

kernels::Activation guess_activation(const ModelOptions& options) {
  return is_modern(options.family)
             ? options.modern.head_activation
             : traits_of(options.family).guess_activation.value_or(options.activation);
}

}  // namespace

MaskedHead::MaskedHead(const ModelOptions& options) : activation_(guess_activation(options)) {
  const int64_t width = embedding_width(options);
  if (traits_of(options.family).has_guess_layer) {
    dense_ = make_part<nn::Linear>("dense",
                                   nn::LinearOptions{options.dim, width, options.modern.head_bias});
    norm_ = register_module("norm", nn::make_norm({.dim = width,
                                                   .epsilon = options.norm_epsilon,
                                                   .has_bias = options.modern.norm_bias}));
  }
  if (!options.ties_embeddings) {
    decoder_ =
        make_part<nn::Linear>("decoder", nn::LinearOptions{width, options.vocabulary, false});
  }
  if (options.modern.output_bias) {
    bias_ = register_parameter("bias", at::empty({options.vocabulary}));
  }
}

at::Tensor MaskedHead::features(const at::Tensor& rows) {
  return dense_ ? norm_->forward(kernels::activate(dense_->forward(rows), activation_)) : rows;
}

at::Tensor MaskedHead::weight() const { return decoder_ ? decoder_->weight() : at::Tensor(); }

namespace {

/// The activation of the layer before the classes, where there is such a layer.
std::optional<kernels::Activation> inner_activation(const ModelOptions& options) {
  if (is_modern(options.family)) {
    return options.modern.head_activation;
  }
  switch (options.head) {
    case Head::kSequence:
      return traits_of(options.family).classifier_activation;
    case Head::kReplacedToken:
      return options.activation;
    case Head::kToken:
    case Head::kSpan:
    case Head::kNone:
    case Head::kMaskedLm:
    case Head::kPretraining:
    case Head::kNextSentence:
    case Head::kCausalLm:
    case Head::kConditional:
    case Head::kImage:
    case Head::kTaughtImage:
    case Head::kMaskedImage:
      return {};
  }
  return {};
}

}  // namespace

ClassHead::ClassHead(const ModelOptions& options)
    : activation_(inner_activation(options)), drops_first_(traits_of(options.family).drops_first) {
  if (activation_) {
    dense_ = make_part<nn::Linear>(
        "dense", nn::LinearOptions{options.dim, options.dim, options.modern.head_bias});
  }
  if (is_modern(options.family)) {
    norm_ = register_module("norm", nn::make_norm({.dim = options.dim,
                                                   .epsilon = options.norm_epsilon,
                                                   .has_bias = options.modern.norm_bias}));
  }
  output_ = make_part<nn::Linear>("output", nn::LinearOptions{options.dim, head_outputs(options)});
}

at::Tensor ClassHead::forward(const at::Tensor& rows,
                              double dropout,
                              const kernels::Chance& outer,
                              const kernels::Chance& inner) {
  const bool drops_outer = drops_first_ || !dense_;
  auto features = kernels::dropout(rows, drops_outer ? dropout : 0.0, outer);
  if (dense_) {
    const auto changed = kernels::activate(dense_->forward(features), *activation_);
    features = kernels::dropout(norm_ ? norm_->forward(changed) : changed, dropout, inner);
  }
  return output_->forward(features);
}

}  // namespace weft::models
