#pragma once

#include <cstddef>

#include "models/encoder.h"

namespace weft::models {

/// Whether the head of a Funnel-Transformer needs a state for each token.
bool has_funnel_decoder(const ModelOptions& options);

/// Funnel-Transformer (arXiv:2006.03236): blocks of layers, between which each sequence is pooled
/// to half its length. For heads that need a state for each token, a decoder adds the states of the
/// last block, up-sampled, to those of the first; its layers follow in the same stack.
class FunnelEncoder : public Encoder {
 public:
  explicit FunnelEncoder(const ModelOptions& options, nn::Embeddings embeddings = nullptr);

  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  kernels::Layout hidden_layout(const kernels::Layout& tokens) const override;
  at::Tensor selected_hidden_states(const TextInput& input,
                                    const nn::ForwardContext& context,
                                    const nn::RowSelection& rows) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) override;

 private:
  /// Rows that a pass has computed.
  struct Pass {
    nn::ForwardContext tokens = {};   // context of the rows of all tokens
    nn::ForwardContext context = {};  // context of `rows`
    at::Tensor rows = {};             // after the last layer, (M, D)
    at::Tensor first = {};            // after the layers of the first block, (N, D)
  };

  std::shared_ptr<Encoder> make_generator(const ModelOptions& options,
                                          const nn::Embeddings& embeddings) const override;
  /// Runs the blocks. `only_first`: of the last layer only the first row of each sequence.
  Pass encode_tokens(const TextInput& input, const nn::ForwardContext& context, bool only_first);
  /// Runs a layer of a block; the first one of a block pools.
  void run_layer(Pass& pass, std::size_t layer, bool pools, bool only_first);
  /// All hidden states of the tokens, or those selected.
  at::Tensor decode(const Pass& pass, const nn::RowSelection* selection);
};

}  // namespace weft::models
