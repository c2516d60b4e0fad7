#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/nn/module.h>

#include "nn/attention/attention.h"
#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"

namespace weft::nn {

/// Sizes of the group linear layers of a DExTra unit, in order of computation.
struct DextraSizes {
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
  std::vector<int64_t> groups;
};

struct DextraOptions {
  int64_t dim = 0;     // D, of the input
  int64_t output = 0;  // p: of the projected input and of the output
  double width = 2;    // m: the widest layer has about m D features
  int64_t depth = 4;   // group linear layers, at least 2
  int64_t groups = 8;  // the most that a layer has, a power of two
  bool shuffles = true;
  bool has_bias = true;
  double dropout = 0;  // on the features of each layer
  int64_t layer = 0;   // index of the block; part of the dropout sites
};

/// The first half of the layers widens from p to m D with 2, 4, 8, ... groups, the second half is
/// its mirror image (arXiv:2008.00623, section 3.1). Sizes are rounded up to multiples of 8 and of
/// the groups, and each layer but the first also reads the p features of the projected input, as in
/// the authors' code.
DextraSizes dextra_sizes(const DextraOptions& options);

/// Depths and widths of the units of a stack.
struct DextraScaling {
  int64_t min_depth = 4;
  int64_t max_depth = 8;
  double width = 2;  // of the first layer
};

/// Sets depth and width for this place: both grow linearly from the first layer to the last one,
/// which has the width m + max_depth / min_depth - 1 (arXiv:2008.00623, section 3.3).
DextraOptions scaled_dextra(DextraOptions options, const DextraScaling& scaling, StackPlace place);

/// A linear layer for each group of features (arXiv:1808.09029). With shuffling, feature i of group
/// g is feature i groups + g of the output, so that the next layer mixes the groups.
class GroupLinearImpl : public torch::nn::Module {
 public:
  GroupLinearImpl(const LinearOptions& options, int64_t groups, bool shuffles);

  /// Each group reads its share of every input. (N, F), ... -> (N, outputs).
  at::Tensor forward(const std::vector<at::Tensor>& inputs, const ForwardContext& context);

 private:
  std::vector<Linear> groups_;
  bool shuffles_;
};
TORCH_MODULE(GroupLinear);

/// The unit of DeLighT: a projection to p features, group linear layers that widen and narrow, and
/// a projection of the last one and the projected input. Behind each of them are a norm of the
/// features of each group, SiLU and dropout. Changes each token by itself.
class DextraUnitImpl : public torch::nn::Module {
 public:
  explicit DextraUnitImpl(const DextraOptions& options);

  /// (N, D) -> (N, p)
  at::Tensor forward(const at::Tensor& x, const ForwardContext& context);

 private:
  struct Layer {
    GroupLinear linear{nullptr};
    std::shared_ptr<Norm> norm;  // of the outputs / groups features of each group
    int64_t norm_width = 0;
  };

  void add_layer(const std::string& name, const LinearOptions& options, int64_t groups);
  at::Tensor run(std::size_t index,
                 const std::vector<at::Tensor>& inputs,
                 const ForwardContext& context);

  DextraOptions options_;
  std::vector<Layer> layers_;
};
TORCH_MODULE(DextraUnit);

/// Type `delight`: attention after a DExTra unit (arXiv:2008.00623).
AttentionMaker read_delight_attention(config::Section& section);

}  // namespace weft::nn
