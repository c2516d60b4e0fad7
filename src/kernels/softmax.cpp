#include "kernels/softmax.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Softmax : public torch::autograd::Function<Softmax> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    auto weights = at::softmax(x, -1);
    context->save_for_backward({weights});
    return weights;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto weights = context->get_saved_variables()[0];
    const auto terms = gradients[0] * weights;
    return {terms - weights * terms.sum(-1, true)};
  }
};

}  // namespace

at::Tensor softmax(const at::Tensor& x) { return Softmax::apply(x); }

}  // namespace weft::kernels
