#pragma once

#include <vector>

#include "models/baseline.h"
#include "nn/attention/pair_attention.h"
#include "nn/linear.h"
#include "nn/perceptron.h"

namespace weft::models {

/// The two texts of each packed sequence, without special tokens: told apart by their types, or by
/// the first separator where the tokenizer gives no types. Throws UserError for a sequence of one
/// text.
std::vector<nn::TextPair> text_pairs(const std::vector<int64_t>& ids,
                                     const std::vector<int64_t>& types,
                                     const std::vector<int64_t>& offsets,
                                     const ModelOptions& options);

/// Decomposable attention (arXiv:1606.01933): attend, compare, aggregate. Its hidden states, (N, 2
/// H), are the compared tokens: those of the first text in the left half, those of the second in
/// the right one, zero elsewhere.
class DecomposableAttention : public Baseline {
 public:
  explicit DecomposableAttention(const ModelOptions& options);

  at::Tensor hidden(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) override;

 private:
  at::Tensor represent(const TextInput& input,
                       const std::vector<nn::TextPair>& pairs,
                       const nn::Pass& pass);
  at::Tensor run(nn::Perceptron& network, const at::Tensor& x, const nn::Pass& pass, int64_t place);

  at::Tensor embedding_;  // (V, E)
  std::shared_ptr<nn::Linear> project_;
  std::shared_ptr<nn::Perceptron> intra_;  // stays empty without intra-attention
  at::Tensor intra_bias_;                  // (2 R + 1)
  std::shared_ptr<nn::Perceptron> attend_;
  std::shared_ptr<nn::Perceptron> compare_;
  std::shared_ptr<nn::Perceptron> aggregate_;
  std::shared_ptr<nn::Linear> output_;
};

}  // namespace weft::models
