#include "nn/document/document_encoder.h"

#include "kernels/embedding.h"

namespace weft::nn {

namespace {

Registry<DocumentEncoderDefinition>& document_encoder_registry() {
  static Registry<DocumentEncoderDefinition> registry(
      "document encoder",
      {{{"hibert", read_hibert}, "last", "mean"},
       {{"hi_transformer", read_hi_transformer}, "attention", "attention", hi_transformer_error}});
  return registry;
}

}  // namespace

const Registry<DocumentEncoderDefinition>& document_encoders() {
  return document_encoder_registry();
}

void register_document_encoder(const DocumentEncoderDefinition& definition) {
  document_encoder_registry().add(definition);
}

DocumentLayersImpl::DocumentLayersImpl(const DocumentEncoderOptions& options, int64_t index) {
  auto stack = options.layers;
  if (stack.layers.empty()) {
    return;
  }
  stack.positions = options.make_positions();
  for (const auto& position : stack.positions) {
    if (position->embedding != nullptr) {
      positions_.push_back(
          register_module(numbered("position", positions_.size()), position->embedding));
    }
    if (position->transform != nullptr) {
      transforms_.push_back(
          register_module(numbered("position_transform", transforms_.size()), position->transform));
    }
  }
  stack.first_layer = options.sentence_layers + index * std::ssize(stack.layers);
  layers_ = register_module("layers", Stack(stack));
}

at::Tensor DocumentLayersImpl::forward(const at::Tensor& vectors, const ForwardContext& context) {
  if (!layers_) {
    return vectors;
  }
  auto x = vectors;
  for (const auto& position : positions_) {
    const auto [table, rows] = position->rows(context.layout);
    x = x + kernels::embedding_sum(table, rows, {}, {}, {}, {}).to(x.scalar_type());
  }
  for (const auto& transform : transforms_) {
    x = transform->forward(x, context.layout);
  }
  return layers_->forward(x, context);
}

}  // namespace weft::nn
