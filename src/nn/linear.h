#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "kernels/activation.h"
#include "kernels/linear/lora_linear.h"
#include "kernels/linear/product.h"
#include "kernels/linear/quantized_linear.h"
#include "nn/forward_context.h"

namespace weft::nn {

struct LinearOptions {
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool has_bias = true;
  /// Outputs [first, first + count) without a bias, where the others have one.
  struct Range {
    int64_t first = 0;
    int64_t count = 0;
  } unbiased = {};
};

/// A LoRA adapter of a linear layer, or of some output rows of a fused one (arXiv:2106.09685).
struct AdapterOptions {
  std::string name;  // `query`; its parameters are `lora_a_query` and `lora_b_query`
  int64_t first_row = 0;
  int64_t rows = 0;  // number of outputs that it adds to
  int64_t rank = 0;
  double scale = 1;
  double dropout = 0;  // on its input
  uint32_t site = 0;   // id of its dropout
};

/// x W^T + b, plus its adapters. The code that builds the model initialises the values.
class LinearImpl : public torch::nn::Module {
 public:
  explicit LinearImpl(const LinearOptions& options);

  /// (N, inputs) -> (N, outputs). For layers without adapters.
  at::Tensor forward(const at::Tensor& x);
  /// The same for layers with or without adapters; their dropout is keyed by the context.
  at::Tensor forward(const at::Tensor& x, const ForwardContext& context);
  /// Computes only outputs [first, first + count) of forward(): (N, inputs) -> (N, count).
  at::Tensor forward_slice(const at::Tensor& x, int64_t first, int64_t count);
  /// forward() of the activated x, optionally gated, in one operation where there is one
  /// (kernels::activation_linear).
  at::Tensor forward_activated(const at::Tensor& x,
                               kernels::Activation activation,
                               bool is_gated,
                               const ForwardContext& context);
  /// Whether it has no adapters and its weight is neither packed nor int8: only then it supports
  /// forward_slice().
  bool has_fused_path() const { return adapters_.empty() && !quantized_ && !packed_; }
  const at::Tensor& weight() const { return weight_; }
  /// The weight of a pass: in training with its dropout, if it has any.
  at::Tensor weight(const ForwardContext& context) const;
  /// (outputs), with zeros where outputs have none; undefined without a bias.
  at::Tensor bias() const;

  /// Replaces the weight by a packed one (kernels::PackedMatrix), for decoding token by token, and
  /// releases the original. Layers with adapters or in int8 are left unchanged.
  void pack();

  /// Replaces the weight by an int8 one, for inference on the CPU (kernels::QuantizedWeight), and
  /// releases the original. Not for layers with adapters.
  void quantize();
  bool is_quantized() const { return quantized_.has_value(); }

  /// Dropout of the weight itself, in training (DropConnect; arXiv:1708.02182, section 2): the
  /// whole step has one mask.
  void set_weight_dropout(double rate, uint32_t site);

  /// Registers the adapter's two matrices; the caller initialises their values.
  void add_adapter(const AdapterOptions& options);

 private:
  at::Tensor product(const at::Tensor& x) const;
  void release_weight();

  struct Adapter {
    AdapterOptions options;
    at::Tensor a;  // (rank, inputs)
    at::Tensor b;  // (rows, rank)
  };

  at::Tensor weight_;  // (outputs, inputs)
  at::Tensor bias_;    // (outputs - unbiased), or undefined
  LinearOptions::Range unbiased_;
  double weight_dropout_ = 0;
  uint32_t weight_dropout_site_ = 0;
  std::vector<Adapter> adapters_;
  std::optional<kernels::QuantizedWeight> quantized_;
  std::optional<kernels::PackedMatrix> packed_;
};
TORCH_MODULE(Linear);

}  // namespace weft::nn
