#include "nn/embedding/patch_embeddings.h"

#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/dropout.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

PatchEmbeddingsImpl::PatchEmbeddingsImpl(const PatchEmbeddingsOptions& options)
    : options_(options) {
  const auto token = [&](const char* name) {
    return register_parameter(name, at::empty({1, 1, options.dim}));
  };
  if (options.has_class_token) {
    class_token_ = token("class_token");
  }
  if (options.has_distillation_token) {
    distillation_token_ = token("distillation_token");
  }
  if (options.has_mask_token) {
    mask_token_ = token("mask_token");
  }
  position_ = register_parameter(
      "position", at::empty({1, num_prefix_tokens() + options.grid * options.grid, options.dim}));
  projection_ =
      register_module("projection", Linear(LinearOptions{options.patch_width, options.dim, true}));
}

int64_t PatchEmbeddingsImpl::num_prefix_tokens() const {
  return (options_.has_class_token ? 1 : 0) + (options_.has_distillation_token ? 1 : 0);
}

at::Tensor PatchEmbeddingsImpl::project(const PatchInput& input) {
  TORCH_CHECK(input.patches.dim() == 2 && input.patches.size(1) == options_.patch_width,
              "PatchEmbeddings expects (P, ", options_.patch_width, "), got ",
              input.patches.sizes());
  const auto rows = projection_->forward(input.patches.to(projection_->weight().scalar_type()));
  if (!input.is_masked.defined()) {
    return rows;
  }
  TORCH_CHECK(mask_token_.defined(), "this model does not mask patches");
  return at::where(input.is_masked.unsqueeze(1), mask_token_.view({1, options_.dim}), rows);
}

at::Tensor interpolate_positions(const at::Tensor& table,
                                 int64_t num_prefix_tokens,
                                 const PatchGrid& to) {
  const int64_t positions = table.size(1) - num_prefix_tokens;
  const int64_t dim = table.size(2);
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(positions))));
  if (to.rows == side && to.columns == side) {
    return table;
  }
  const auto square = table.narrow(1, num_prefix_tokens, positions)
                          .to(at::kFloat)
                          .reshape({1, side, side, dim})
                          .permute({0, 3, 1, 2});  // (1, D, side, side)
  const auto made = at::upsample_bicubic2d(square, {to.rows, to.columns}, false)
                        .permute({0, 2, 3, 1})
                        .reshape({1, to.rows * to.columns, dim})
                        .to(table.scalar_type());
  return num_prefix_tokens == 0 ? made : at::cat({table.narrow(1, 0, num_prefix_tokens), made}, 1);
}

at::Tensor PatchEmbeddingsImpl::positions(const PatchGrid& grid) const {
  return interpolate_positions(position_, num_prefix_tokens(), grid);
}

at::Tensor PatchEmbeddingsImpl::prepend_tokens(const at::Tensor& rows,
                                               int64_t images,
                                               const PatchGrid& grid) const {
  std::vector<at::Tensor> parts;
  for (const auto& token : {class_token_, distillation_token_}) {
    if (token.defined()) {
      parts.push_back(token.expand({images, 1, options_.dim}));
    }
  }
  parts.push_back(rows.view({images, grid.rows * grid.columns, options_.dim}));
  return (at::cat(parts, 1) + positions(grid)).view({-1, options_.dim});
}

at::Tensor PatchEmbeddingsImpl::forward(const PatchInput& input, const ForwardContext& context) {
  const auto rows = project(input);  // (P, D)
  // Consecutive images with the same grid are processed together; most batches have only one.
  std::vector<at::Tensor> parts;
  int64_t first = 0;
  for (auto begin = input.grids.begin(); begin != input.grids.end();) {
    const auto end = std::find_if(begin, input.grids.end(),
                                  [&](const PatchGrid& grid) { return grid != *begin; });
    const int64_t images = end - begin;
    const int64_t count = images * begin->rows * begin->columns;
    parts.push_back(prepend_tokens(rows.narrow(0, first, count), images, *begin));
    first += count;
    begin = end;
  }
  TORCH_CHECK(first == rows.size(0), "PatchEmbeddings: grids of ", first, " patches, got ",
              rows.size(0));
  const auto x = parts.size() == 1 ? parts.front() : at::cat(parts, 0);  // (N, D)
  return kernels::dropout(x, context.rate(options_.dropout),
                          context.rng_key(site_id(DropoutSite::kEmbedding)));
}

}  // namespace weft::nn
