#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <torch/nn/module.h>

#include "nn/component.h"
#include "nn/forward_context.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/position/position.h"
#include "nn/stack.h"

/// Encoders of documents that first read each sentence by itself.
namespace weft::nn {

struct DocumentEncoderOptions {
  int64_t dim = 0;              // D
  int64_t sentence_layers = 0;  // of the stack that reads the tokens of each sentence
  /// Layers that read the vectors of the sentences of a document, (S, D). No layers: no encoder.
  /// `first_layer` and `positions` are set where they are used.
  StackOptions layers = {};
  /// Positions of a sentence in its document, new ones with each call.
  std::function<Positions()> make_positions = {};
  /// Makes the vector of a sentence from the states of its tokens.
  std::shared_ptr<SequencePooling> sentence_vector = nullptr;
};

/// What a document encoder does with the layers of the sentences, and after them. Both contexts
/// are those of whole documents, from which sentence_context and document_context are made.
class DocumentEncoder : public torch::nn::Module {
 public:
  /// Runs `layers`, which read sentences: embedded tokens (N, D) -> states of the tokens (N, D).
  virtual at::Tensor token_states(StackImpl& layers,
                                  const at::Tensor& x,
                                  const ForwardContext& context) = 0;
  /// Vectors of the sentences, from those states: (N, D) -> (S, D).
  virtual at::Tensor sentence_states(const at::Tensor& tokens, const ForwardContext& context) = 0;
};

struct DocumentEncoderDefinition : ComponentDefinition<DocumentEncoder, DocumentEncoderOptions> {
  std::string_view sentence_vector;  // as published, of nn::sequence_poolings()
  std::string_view pooling;          // that of sentences to a document
  /// Why a model of `sentence_layers` layers cannot have one with these keys; empty: it can.
  std::string (*error)(const std::string& keys, int64_t sentence_layers) = nullptr;
};
using DocumentEncoderChoice = ComponentChoice<DocumentEncoder, DocumentEncoderOptions>;

/// The values of `model.document.type`.
const Registry<DocumentEncoderDefinition>& document_encoders();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_document_encoder(const DocumentEncoderDefinition& definition);

/// Layers over the sentences of documents with positions of their own: vectors (S, D) -> (S, D).
class DocumentLayersImpl : public torch::nn::Module {
 public:
  /// `index`: of several, whose dropout differs.
  DocumentLayersImpl(const DocumentEncoderOptions& options, int64_t index);

  /// `context`: that of documents over sentences.
  at::Tensor forward(const at::Tensor& vectors, const ForwardContext& context);

 private:
  std::vector<std::shared_ptr<PositionEmbedding>> positions_;
  std::vector<std::shared_ptr<EmbeddingTransform>> transforms_;
  Stack layers_{nullptr};  // null: the vectors stay as they are
};
TORCH_MODULE(DocumentLayers);

/// HIBERT (arXiv:1905.06566, section 3.1): the layers of the sentences, then a second encoder over
/// the vectors of the sentences and their positions. What a token is does not depend on other
/// sentences.
DocumentEncoderDefinition::Maker read_hibert(config::Section& section);

/// Hi-Transformer (arXiv:2106.01040, section 2): stacks of layers over the tokens of each sentence,
/// then layers over the sentences of a document, which read the state of the last token of each
/// sentence and put theirs in its place, then layers over the tokens again. The layers of the
/// sentences are divided evenly among the stacks and their two parts. So the states of tokens
/// depend on the whole document.
DocumentEncoderDefinition::Maker read_hi_transformer(config::Section& section);

/// Whether the layers of the sentences can be divided so; see DocumentEncoderDefinition::error.
std::string hi_transformer_error(const std::string& keys, int64_t sentence_layers);

/// The two contexts of a nested batch, tokens -> sentences -> documents. The key of each row's and
/// each sequence's dropout counts the sentences of earlier micro-batches, so that it does not
/// depend on the split of a step. The attention of divided texts is not recorded.

/// For the rows of tokens, (N, D): each sentence of ForwardContext::sentences is a sequence.
/// Throws c10::Error if they are not all tokens of the sequences.
ForwardContext sentence_context(const ForwardContext& context);

/// For the rows of sentences, (S, D): each sequence of the context is one of its sentences.
ForwardContext document_context(const ForwardContext& context);

}  // namespace weft::nn
