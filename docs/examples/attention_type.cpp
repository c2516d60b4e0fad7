// The program `weft` with an attention type of our own, `model.attention.type: elu_linear`.
//
// Linear attention (arXiv:2006.16236, equation 5): with phi(x) = elu(x) + 1, token i receives
// phi(q_i) (sum_j phi(k_j) v_j^T) / (phi(q_i) sum_j phi(k_j)). Time and memory grow linearly with
// the length of a sequence.
//
//   model:
//     attention: {heads: 4, type: elu_linear}
#include <cstdint>
#include <memory>

#include <ATen/ATen.h>

#include "cli/run.h"
#include "nn/attention/attention.h"
#include "nn/linear.h"

namespace {

using weft::nn::AttentionOptions;
using weft::nn::ForwardContext;

class EluLinearAttention : public weft::nn::Attention {
 public:
  EluLinearAttention(const AttentionOptions& options, double epsilon)
      : options_(options), epsilon_(epsilon) {
    TORCH_CHECK(!options.is_causal, "elu_linear attends in both directions");
    const weft::nn::LinearOptions square{options.dim, options.dim, options.has_bias};
    query_ = register_module("query", weft::nn::Linear(square));
    key_ = register_module("key", weft::nn::Linear(square));
    value_ = register_module("value", weft::nn::Linear(square));
    output_ = register_module("output", weft::nn::Linear(square));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto query = at::elu(split_heads(query_->forward(x, context))) + 1;  // (H, N, K)
    const auto key = at::elu(split_heads(key_->forward(x, context))) + 1;
    const auto value = split_heads(value_->forward(x, context));
    std::vector<at::Tensor> sequences;
    const auto& offsets = context.layout.offsets;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const auto rows = [&](const at::Tensor& all) {
        return all.slice(1, offsets[b], offsets[b + 1]);
      };
      const auto sums = at::matmul(rows(key).transpose(1, 2), rows(value));            // (H, K, K)
      const auto normalizer = at::matmul(rows(query), rows(key).sum(1).unsqueeze(2));  // (H, L, 1)
      sequences.push_back(at::matmul(rows(query), sums) / (normalizer + epsilon_));
    }
    const auto mixed = at::cat(sequences, 1).transpose(0, 1).flatten(1);  // (N, D)
    return output_->forward(mixed.to(x.scalar_type()), context);
  }

 private:
  /// (N, D) -> (H, N, K)
  at::Tensor split_heads(const at::Tensor& x) const {
    return x.unflatten(1, {options_.heads, -1}).transpose(0, 1);
  }

  AttentionOptions options_;
  double epsilon_;
  weft::nn::Linear query_{nullptr};
  weft::nn::Linear key_{nullptr};
  weft::nn::Linear value_{nullptr};
  weft::nn::Linear output_{nullptr};
};

/// Reads the keys of the type and returns the function that makes the attention of a layer.
weft::nn::AttentionMaker read_elu_linear(weft::config::Section& section) {
  double epsilon = 1e-6;
  section.read("normalizer_epsilon", epsilon,
               {.help = "Added to the normalizer.",
                .range = weft::config::above(0),
                .only_if = "type: elu_linear"});
  return [epsilon](const AttentionOptions& options) {
    return std::make_shared<EluLinearAttention>(options, epsilon);
  };
}

}  // namespace

int main(int argc, char** argv) {
  weft::nn::register_attention({"elu_linear", read_elu_linear});
  return weft::run(argc, argv);
}
