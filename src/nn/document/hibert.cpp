#include "nn/document/document_encoder.h"

namespace weft::nn {

namespace {

class Hibert : public DocumentEncoder {
 public:
  explicit Hibert(const DocumentEncoderOptions& options) {
    sentence_vector_ = register_module("sentence_vector", options.sentence_vector);
    document_ = register_module("encoder", DocumentLayers(options, 0));
  }

  at::Tensor token_states(StackImpl& layers,
                          const at::Tensor& x,
                          const ForwardContext& context) override {
    return layers.forward(x, sentence_context(context));
  }

  at::Tensor sentence_states(const at::Tensor& tokens, const ForwardContext& context) override {
    const auto vectors = sentence_vector_->forward(tokens, sentence_context(context));  // (S, D)
    return document_->forward(vectors, document_context(context));
  }

 private:
  std::shared_ptr<SequencePooling> sentence_vector_;
  DocumentLayers document_{nullptr};
};

}  // namespace

DocumentEncoderDefinition::Maker read_hibert(config::Section& /*section*/) {
  return [](const DocumentEncoderOptions& options) { return std::make_shared<Hibert>(options); };
}

}  // namespace weft::nn
