#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

constexpr int64_t kMostOfAnAxis = 1 << 16;

class AxialPosition : public PositionEmbedding {
 public:
  explicit AxialPosition(const AxialOptions& options) : options_(options) {
    rows_ = register_parameter("weights_0", at::empty({options.shape[0], 1, options.dims[0]}));
    columns_ = register_parameter("weights_1", at::empty({1, options.shape[1], options.dims[1]}));
  }

  // Of the rows of the grid that the texts reach.
  PositionRows rows(const kernels::Layout& layout) override {
    const auto columns = options_.shape[1];
    TORCH_CHECK(layout.position_limit <= options_.shape[0] * columns, "a sequence of ",
                layout.position_limit, " tokens is longer than the ", options_.shape[0] * columns,
                " positions of the model");
    const auto reached = (layout.position_limit + columns - 1) / columns;
    const auto first = rows_.narrow(0, 0, reached).expand({-1, columns, -1});
    const auto second = columns_.expand({reached, -1, -1});
    return {.table = at::cat({first, second}, 2).flatten(0, 1), .rows = layout.positions};
  }

 private:
  AxialOptions options_;
  at::Tensor rows_;     // (R, 1, D1)
  at::Tensor columns_;  // (1, C, D2)
};

void check_axes(const config::Section& section, const char* key, const std::vector<int64_t>& axes) {
  const bool is_fine = axes.size() == 2 && std::ranges::all_of(axes, [](int64_t size) {
                         return size >= 1 && size <= kMostOfAnAxis;
                       });
  if (!is_fine) {
    section.fail(key, str_cat("must be two whole numbers from 1 to ", kMostOfAnAxis));
  }
}

}  // namespace

PositionMaker axial_position(const AxialOptions& options) {
  return [options](const PositionOptions& model) {
    TORCH_CHECK(options.dims[0] + options.dims[1] == model.dim, "axial positions of width ",
                options.dims[0], " + ", options.dims[1], " for embeddings of width ", model.dim);
    return std::make_shared<Position>(
        Position{.embedding = std::make_shared<AxialPosition>(options)});
  };
}

PositionMaker read_axial_position(config::Section& section) {
  AxialOptions own{.shape = {64, 64}, .dims = {64, 192}};
  section.read("shape", own.shape,
               {.help = "Rows and columns of the grid of positions; their product is the longest "
                        "text."});
  section.read("dims", own.dims,
               {.help = "Features of the vectors of a row and of a column; their sum is that of "
                        "the embeddings."});
  check_axes(section, "shape", own.shape);
  check_axes(section, "dims", own.dims);
  return [own, section](const PositionOptions& model) {
    if (own.dims[0] + own.dims[1] != model.dim) {
      section.fail("dims", str_cat("found ", own.dims[0], " + ", own.dims[1],
                                   ", must add up to the width of the embeddings, ", model.dim));
    }
    if (own.shape[0] * own.shape[1] < model.length) {
      section.fail("shape", str_cat("found ", own.shape[0], " x ", own.shape[1],
                                    ", must be at least position.length, ", model.length));
    }
    return axial_position(own)(model);
  };
}

}  // namespace weft::nn
