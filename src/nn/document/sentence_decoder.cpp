#include "nn/document/sentence_decoder.h"

#include "nn/linear.h"

namespace weft::nn {

namespace {

class SingleStateAttention : public Sublayer {
 public:
  explicit SingleStateAttention(const AttentionOptions& options) {
    projection_ = register_module(
        "projection", Linear(LinearOptions{options.dim, options.dim, options.has_bias}));
  }

  at::Tensor forward(const at::Tensor& /*x*/, const ForwardContext& context) override {
    TORCH_CHECK(context.encoder_states != nullptr && context.decoding_state == nullptr &&
                    context.encoder_states->states.size(0) == context.layout.sequences(),
                "a decoder of sentences needs one state for each of them");
    return projection_->forward(context.encoder_states->states, context)
        .repeat_interleave(context.layout.device_lengths(), 0);  // (N, D)
  }

  bool mixes_tokens() const override { return false; }

 private:
  Linear projection_{nullptr};
};

}  // namespace

std::shared_ptr<Sublayer> make_single_state_attention(const AttentionOptions& options) {
  return std::make_shared<SingleStateAttention>(options);
}

}  // namespace weft::nn
