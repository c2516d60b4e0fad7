#include "nn/depth/distinct_rows.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace weft::nn {

namespace {

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

at::Tensor select_distinct_rows(const at::Tensor& x, const at::Tensor& rows) {
  return SelectRows::apply(x, rows);
}

at::Tensor scatter_distinct_rows(const at::Tensor& x, const at::Tensor& rows, int64_t count) {
  return ScatterRows::apply(x, rows, count);
}

}  // namespace weft::nn
