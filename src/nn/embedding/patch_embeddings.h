#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/linear.h"

namespace weft::nn {

struct PatchEmbeddingsOptions {
  int64_t dim = 0;          // D
  int64_t patch_width = 0;  // values of a patch, all channels
  int64_t grid = 0;         // patches per side of the position table
  bool has_class_token = true;
  bool has_distillation_token = false;
  bool has_mask_token = false;  // has a token that replaces masked patches
  double dropout = 0;
};

/// Grid of an image's patches, from the top left.
struct PatchGrid {
  int64_t rows = 0;
  int64_t columns = 0;

  bool operator==(const PatchGrid&) const = default;
};

/// Patches of a batch of images.
struct PatchInput {
  at::Tensor patches;            // (P, C p p)
  at::Tensor is_masked;          // (P) bool, or undefined: none
  std::vector<PatchGrid> grids;  // one per image
};

/// Projected patches after the model's special tokens, plus learned positions (arXiv:2010.11929,
/// equation 1; the distillation token of arXiv:2012.12877). For grids of another size the position
/// table is interpolated (bicubic).
class PatchEmbeddingsImpl : public torch::nn::Module {
 public:
  explicit PatchEmbeddingsImpl(const PatchEmbeddingsOptions& options);

  at::Tensor forward(const PatchInput& input, const ForwardContext& context);  // -> (N, D)

  int64_t num_prefix_tokens() const;

 private:
  at::Tensor project(const PatchInput& input);
  /// (1, special tokens + rows * columns, D)
  at::Tensor positions(const PatchGrid& grid) const;
  /// Consecutive images with the same grid: (images * patches, D) -> (images * tokens, D)
  at::Tensor prepend_tokens(const at::Tensor& rows, int64_t images, const PatchGrid& grid) const;

  PatchEmbeddingsOptions options_;
  at::Tensor class_token_;         // (1, 1, D)
  at::Tensor distillation_token_;  // (1, 1, D)
  at::Tensor mask_token_;          // (1, 1, D)
  at::Tensor position_;            // (1, special tokens + grid * grid, D)
  Linear projection_{nullptr};
};
TORCH_MODULE(PatchEmbeddings);

/// The position table interpolated to another grid:
/// (1, prefix + from * from, D) -> (1, prefix + rows * columns, D).
at::Tensor interpolate_positions(const at::Tensor& table,
                                 int64_t num_prefix_tokens,
                                 const PatchGrid& to);

}  // namespace weft::nn
