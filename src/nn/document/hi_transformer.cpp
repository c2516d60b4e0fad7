#include <vector>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "nn/activation_hook.h"
#include "nn/document/document_encoder.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

constexpr int64_t kDefaultStacks = 2;

int64_t read_stacks(config::Section& section) {
  int64_t stacks = kDefaultStacks;
  section.read("stacks", stacks,
               {.help = "Times that layers over the sentences of a document follow layers over the "
                        "tokens of its sentences; twice this must divide model.layers.",
                .unit = "stacks",
                .range = config::between(1, 64)});
  return stacks;
}

class HiTransformer : public DocumentEncoder {
 public:
  HiTransformer(const DocumentEncoderOptions& options, int64_t stacks)
      : part_(static_cast<std::size_t>(options.sentence_layers / (2 * stacks))) {
    for (int64_t i = 0; i < stacks; ++i) {
      documents_.emplace_back(
          register_module(numbered("encoder", documents_.size()), DocumentLayers(options, i)));
    }
    sentence_vector_ = register_module("sentence_vector", options.sentence_vector);
  }

  at::Tensor token_states(StackImpl& layers,
                          const at::Tensor& x,
                          const ForwardContext& context) override {
    const auto own = sentence_context(context);
    const auto shared = layers.with_shared_scores(own, x.device());
    const auto of_documents = document_context(context);
    const auto last = RowSelection::last_tokens(own).index;  // (S)
    auto states = ActivationHook::run_hooks("embeddings", x);
    std::size_t layer = 0;
    const auto run_part = [&] {
      for (const auto end = layer + part_; layer < end; ++layer) {
        states = layers.forward_layer(layer, states, shared);
      }
    };
    for (auto& document : documents_) {
      run_part();
      const auto aware = document->forward(states.index_select(0, last), of_documents);  // (S, D)
      states = states.index_copy(0, last, aware.to(states.scalar_type()));
      run_part();
    }
    return layers.final_norm(states);
  }

  at::Tensor sentence_states(const at::Tensor& tokens, const ForwardContext& context) override {
    return sentence_vector_->forward(tokens, sentence_context(context));
  }

 private:
  std::size_t part_;  // layers before and after those of the document
  std::vector<DocumentLayers> documents_;
  std::shared_ptr<SequencePooling> sentence_vector_;
};

}  // namespace

DocumentEncoderDefinition::Maker read_hi_transformer(config::Section& section) {
  return [stacks = read_stacks(section)](const DocumentEncoderOptions& options) {
    return std::make_shared<HiTransformer>(options, stacks);
  };
}

std::string hi_transformer_error(const std::string& keys, int64_t sentence_layers) {
  auto section = config::Document::parse(keys, "hi_transformer").root();
  const auto stacks = read_stacks(section);
  return sentence_layers % (2 * stacks) == 0
             ? ""
             : str_cat("with stacks: ", stacks, " needs model.layers to be a multiple of ",
                       2 * stacks, ", found ", sentence_layers);
}

}  // namespace weft::nn
