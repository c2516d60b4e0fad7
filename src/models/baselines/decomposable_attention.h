#pragma once

#include <cstdint>
#include <vector>

#include "models/baselines/baseline.h"
#include "nn/attention/scores/pair_attention.h"
#include "nn/linear.h"

namespace weft::models {

/// The two texts of each packed sequence, without special tokens: separated by their token types,
/// or by the first separator where the tokenizer has no types. Throws UserError for a sequence with
/// one text.
std::vector<nn::TextPair> text_pairs(const std::vector<int64_t>& ids,
                                     const std::vector<int64_t>& types,
                                     const std::vector<int64_t>& offsets,
                                     const ModelOptions& options);

struct MlpOptions {
  int64_t inputs = 0;
  int64_t width = 0;  // of both layers
};

/// Two linear layers with ReLU, each preceded by dropout.
class MlpImpl : public torch::nn::Module {
 public:
  explicit MlpImpl(const MlpOptions& options);

  /// (rows, inputs) -> (rows, width)
  at::Tensor forward(const at::Tensor& x,
                     double dropout,
                     const kernels::RngKey& outer,
                     const kernels::RngKey& inner);

 private:
  nn::Linear first_{nullptr};
  nn::Linear second_{nullptr};
};
TORCH_MODULE(Mlp);

/// Decomposable attention (arXiv:1606.01933): attend, compare, aggregate. Its hidden states, (N, 2
/// H), are the compared tokens: first text in the left half, second text in the right half, zero
/// elsewhere.
class DecomposableAttention : public Baseline {
 public:
  explicit DecomposableAttention(const ModelOptions& options);

  at::Tensor input_embeddings() const override { return embedding_; }
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 private:
  at::Tensor represent(const TextInput& input,
                       const std::vector<nn::TextPair>& pairs,
                       const nn::ForwardContext& context);
  at::Tensor run(MlpImpl& network,
                 const at::Tensor& x,
                 const nn::ForwardContext& context,
                 int64_t site_group);

  at::Tensor embedding_;  // (V, E)
  nn::Linear project_{nullptr};
  Mlp intra_{nullptr};     // null without intra-attention
  at::Tensor intra_bias_;  // (2 R + 1)
  Mlp attend_{nullptr};
  Mlp compare_{nullptr};
  Mlp aggregate_{nullptr};
  nn::Linear output_{nullptr};
};

}  // namespace weft::models
