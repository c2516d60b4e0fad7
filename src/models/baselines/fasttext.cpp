#include "models/baselines/fasttext.h"

#include <ATen/Functions.h>

#include "base/error.h"
#include "kernels/embedding.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

FastText::FastText(const ModelOptions& options) : Baseline(options) {
  const auto classes = head_outputs(options);
  words_ = register_parameter("words", at::empty({options.vocabulary, options.dim}));
  if (has_output_matrix(options.layer_types)) {
    output_ = register_parameter("output", at::empty({classes, options.dim}));
    return;
  }
  if (options.is_regression || options.is_multi_label || classes < 2) {
    throw UserError(
        "model.output.type: must be full, as the others give the probabilities of two classes and "
        "more, one of which is right");
  }
  register_output_layer(options.layer_types, {.width = options.dim, .vocabulary = classes});
}

at::Tensor FastText::hidden(const TextInput& input, const nn::ForwardContext& /*context*/) {
  return kernels::embedding_sum(words_, input.ids, {}, {}, {}, {});
}

at::Tensor FastText::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  return output_logits(nn::pool(hidden, context.layout, nn::SentencePooling::kMean), {output_, {}});
}

at::Tensor FastText::classify(const TextInput& input, const nn::ForwardContext& context) {
  return output_logits(kernels::embedding_mean(words_, input.ids, context.layout), {output_, {}});
}

}  // namespace weft::models
