#include "nn/row_selection.h"

#include <numeric>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// One token per sequence; random keys use the sequence index.
RowSelection one_of_each(const at::Tensor& index, const ForwardContext& context) {
  std::vector<int64_t> offsets(context.layout.offsets.size());
  std::iota(offsets.begin(), offsets.end(), 0);
  return {.index = index.to(at::kLong),
          .layout = kernels::Layout::from_offsets(std::move(offsets), index.device()),
          .first_row = context.first_sequence};
}

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

at::Tensor scattered(const at::Tensor& x, const at::Tensor& rows, int64_t count) {
  return at::zeros({count, x.size(1)}, x.options()).index_copy_(0, rows, x);
}

struct SelectRows : torch::autograd::Function<SelectRows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& rows) {
    context->save_for_backward({rows});
    context->saved_data["count"] = x.size(0);
    return x.index_select(0, rows);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto rows = context->get_saved_variables()[0];
    return {scattered(gradients[0], rows, context->saved_data["count"].toInt()), {}};
  }
};

struct ScatterRows : torch::autograd::Function<ScatterRows> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& rows,
                            int64_t count) {
    context->save_for_backward({rows});
    return scattered(x, rows, count);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    return {gradients[0].index_select(0, context->get_saved_variables()[0]), {}, {}};
  }
};

}  // namespace

RowSelection RowSelection::from_rows(const std::vector<int64_t>& rows,
                                     const ForwardContext& context,
                                     int64_t first_row) {
  const auto device = context.layout.positions.device();
  std::vector<int64_t> offsets{0};
  auto row = rows.begin();
  for (std::size_t b = 1; b < context.layout.offsets.size(); ++b) {
    while (row != rows.end() && *row >= context.layout.offsets[b - 1] &&
           *row < context.layout.offsets[b]) {
      ++row;
    }
    offsets.push_back(row - rows.begin());
  }
  TORCH_CHECK(row == rows.end(), "row ", *row, " of ", context.layout.tokens(),
              " is selected out of order");
  return {.index = kernels::to_device(rows, device),
          .layout = kernels::Layout::from_offsets(std::move(offsets), device),
          .first_row = first_row};
}

RowSelection RowSelection::first_tokens(const ForwardContext& context) {
  return one_of_each(context.layout.device_offsets.slice(0, 0, context.layout.sequences()),
                     context);
}

RowSelection RowSelection::last_tokens(const ForwardContext& context) {
  return one_of_each(context.layout.device_offsets.slice(0, 1) - 1, context);
}

at::Tensor RowSelection::select(const at::Tensor& x) const { return x.index_select(0, index); }

ForwardContext RowSelection::select(const ForwardContext& context) const {
  auto result = context;
  result.layout = layout;
  result.token_types =
      context.token_types.defined() ? select(context.token_types) : context.token_types;
  result.first_row = first_row;
  result.earlier_lengths.reset();
  return result;
}

at::Tensor select_distinct_rows(const at::Tensor& x, const at::Tensor& rows) {
  return SelectRows::apply(x, rows);
}

at::Tensor scatter_distinct_rows(const at::Tensor& x, const at::Tensor& rows, int64_t count) {
  return ScatterRows::apply(x, rows, count);
}

}  // namespace weft::nn
