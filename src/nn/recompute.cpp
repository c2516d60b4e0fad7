#include "nn/recompute.h"

#include <cstddef>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

namespace weft::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Work = std::function<at::Tensor(const at::Tensor&)>;

struct Kept : torch::CustomClassHolder {
  explicit Kept(Work given) : work(std::move(given)) {}
  Work work;
};

// The gradients of the parameters are handed to autograd, not added here: what else has a share in
// them is added up in the same order as without this function.
class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            at::TensorList parameters,
                            const Work& work) {
    variable_list saved = {x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["work"] = c10::IValue::make_capsule(c10::make_intrusive<Kept>(work));
    return work(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["work"].toCapsule();
    auto x = saved[0].detach();
    x.set_requires_grad(context->needs_input_grad(0));
    variable_list inputs;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (context->needs_input_grad(i)) {
        inputs.push_back(i == 0 ? x : saved[i]);
        places.push_back(i);
      }
    }
    variable_list result(saved.size() + 1);
    if (inputs.empty()) {
      return result;
    }
    const auto found =
        torch::autograd::grad({again(*capsule, x)}, inputs, {gradients[0]}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < places.size(); ++i) {
      result[places[i]] = found[i];
    }
    return result;
  }

 private:
  static at::Tensor again(const torch::CustomClassHolder& kept, const at::Tensor& x) {
    const at::AutoGradMode with_gradients(true);
    return static_cast<const Kept&>(kept).work(x);
  }
};

}  // namespace

at::Tensor recomputed(const at::Tensor& x, const Module& part, const Work& work) {
  std::vector<at::Tensor> parameters;
  for (const auto& item : part.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.push_back(item.value());
    }
  }
  return Recompute::apply(x, at::TensorList(parameters), work);
}

}  // namespace weft::nn
