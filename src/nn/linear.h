#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/activation_kind.h"
#include "kernels/linear/low_rank.h"
#include "kernels/linear/product.h"
#include "kernels/linear/quantized_linear.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::nn {

struct LinearOptions {
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool has_bias = true;
};

/// A low-rank product beside a linear layer, or beside some rows of one that holds several
/// (arXiv:2106.09685).
struct AdapterOptions {
  std::string name;  // `query`; its parameters are `lora_a_query` and `lora_b_query`
  int64_t first_row = 0;
  int64_t rows = 0;  // outputs that it adds to
  int64_t rank = 0;
  double scale = 1;
  double dropout = 0;  // on its input
  uint32_t site = 0;   // numbers its chance
};

/// x W^T + b, and the products of its adapters. Its values are set by whoever builds the model.
class Linear : public Module {
 public:
  explicit Linear(const LinearOptions& options);

  /// (N, inputs) -> (N, outputs). For layers that carry no adapters.
  at::Tensor forward(const at::Tensor& x);
  /// The same for layers that may carry adapters, which take their chance from the pass.
  at::Tensor adapted(const at::Tensor& x, const Pass& pass);
  /// Outputs [first, first + count) of `forward`, for less: (N, inputs) -> (N, count).
  at::Tensor part(const at::Tensor& x, int64_t first, int64_t count);
  /// `forward` of what an activation, perhaps gated, makes of x; see kernels::linear_of_activated.
  at::Tensor of_activated(const at::Tensor& x, kernels::Activation activation, bool is_gated);
  /// Whether it carries no adapters, and its weight is neither packed nor in int8: then it has
  /// `part` and `of_activated`.
  bool is_plain() const { return adapters_.empty() && !quantized_ && !packed_; }
  const at::Tensor& weight() const { return weight_; }

  /// From now on its product reads a packed weight (kernels::PackedMatrix), for decoding token by
  /// token; the weight itself is given up. Layers with adapters or in int8 stay as they are.
  void pack();

  /// From now on its product is one of int8, for inference on the CPU (kernels::QuantizedWeight);
  /// the weight itself is given up. Not for layers that carry adapters.
  void quantize();
  bool is_quantized() const { return quantized_.has_value(); }

  /// Registers the adapter's two matrices; their values are set by the caller.
  void add_adapter(const AdapterOptions& options);

 private:
  at::Tensor product(const at::Tensor& x) const;
  void give_up_weight();
  void check_is_plain() const;

  struct Adapter {
    AdapterOptions options;
    at::Tensor a;  // (rank, inputs)
    at::Tensor b;  // (rows, rank)
  };

  at::Tensor weight_;  // (outputs, inputs)
  at::Tensor bias_;    // (outputs), or undefined
  std::vector<Adapter> adapters_;
  std::optional<kernels::QuantizedWeight> quantized_;
  std::optional<kernels::PackedMatrix> packed_;
};

}  // namespace weft::nn
