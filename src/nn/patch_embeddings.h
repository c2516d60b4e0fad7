#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/linear.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::nn {

struct PatchEmbeddingsOptions {
  int64_t dim = 0;          // D
  int64_t patch_width = 0;  // pixels of a patch, all channels
  int64_t grid = 0;         // patches of each side that the table of positions is made for
  bool has_class_token = true;
  bool has_distillation_token = false;
  bool hides_patches = false;  // has a token that stands for hidden ones
  double dropout = 0;
};

/// Patches of an image, from above and the left.
struct PatchGrid {
  int64_t rows = 0;
  int64_t columns = 0;

  bool operator==(const PatchGrid&) const = default;
};

/// What a batch's images are made of.
struct PatchInput {
  at::Tensor patches;            // (P, C p p)
  at::Tensor is_hidden;          // (P) bool, or undefined: none is
  std::vector<PatchGrid> grids;  // of each image
};

/// Projected patches behind the model's own tokens, and learned positions (arXiv:2010.11929,
/// equation 1; the distillation token of arXiv:2012.12877). For another grid than its own the table
/// of positions is interpolated (bicubic).
class PatchEmbeddings : public Module {
 public:
  explicit PatchEmbeddings(const PatchEmbeddingsOptions& options);

  at::Tensor forward(const PatchInput& input, const Pass& pass);  // -> (N, D)

  int64_t own_tokens() const;

 private:
  at::Tensor projected(const PatchInput& input);
  /// (1, own tokens + rows * columns, D)
  at::Tensor positions(const PatchGrid& grid) const;
  /// Images of one grid one after another: (images * patches, D) -> (images * tokens, D)
  at::Tensor with_tokens(const at::Tensor& rows, int64_t images, const PatchGrid& grid) const;

  PatchEmbeddingsOptions options_;
  at::Tensor class_token_;         // (1, 1, D)
  at::Tensor distillation_token_;  // (1, 1, D)
  at::Tensor mask_token_;          // (1, 1, D)
  at::Tensor position_;            // (1, own tokens + grid * grid, D)
  std::shared_ptr<Linear> projection_;
};

/// The table of positions made for another square grid: (1, own + from * from, D) -> (1, own + to *
/// to, D).
at::Tensor resized_positions(const at::Tensor& table, int64_t own_tokens, const PatchGrid& to);

}  // namespace weft::nn
