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
struct Kept : torch::CustomClassHolder {
  Kept(RecomputedWork given, std::size_t count) : work(std::move(given)), inputs(count) {}
  RecomputedWork work;
  std::size_t inputs;
};

// The gradients of the parameters are handed to autograd, not added here: what else has a share in
// them is added up in the same order as without this function.
class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            at::TensorList inputs,
                            at::TensorList parameters,
                            const RecomputedWork& work) {
    variable_list saved = inputs.vec();
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["work"] =
        c10::IValue::make_capsule(c10::make_intrusive<Kept>(work, inputs.size()));
    return work(inputs.vec());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["work"].toCapsule();
    const auto& kept = static_cast<const Kept&>(*capsule);
    variable_list leaves;  // the inputs, cut off from what made them
    variable_list wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      auto tensor = saved[i];
      if (i < kept.inputs) {
        tensor = tensor.detach();
        tensor.set_requires_grad(context->needs_input_grad(i));
        leaves.push_back(tensor);
      }
      if (context->needs_input_grad(i)) {
        wanted.push_back(tensor);
        places.push_back(i);
      }
    }
    variable_list result(saved.size() + 1);
    if (wanted.empty()) {
      return result;
    }
    const auto found =
        torch::autograd::grad({again(kept, leaves)}, wanted, {gradients[0]}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < places.size(); ++i) {
      result[places[i]] = found[i];
    }
    return result;
  }

 private:
  static at::Tensor again(const Kept& kept, const variable_list& inputs) {
    const at::AutoGradMode with_gradients(true);
    return kept.work(inputs);
  }
};

}  // namespace

at::Tensor recomputed(const std::vector<at::Tensor>& inputs,
                      const Module& part,
                      const RecomputedWork& work) {
  std::vector<at::Tensor> parameters;
  for (const auto& item : part.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.push_back(item.value());
    }
  }
  return Recompute::apply(at::TensorList(inputs), at::TensorList(parameters), work);
}

at::Tensor recomputed(const at::Tensor& x,
                      const Module& part,
                      const std::function<at::Tensor(const at::Tensor&)>& work) {
  return recomputed(std::vector<at::Tensor>{x}, part,
                    [work](const std::vector<at::Tensor>& inputs) { return work(inputs[0]); });
}

}  // namespace weft::nn
