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
struct SavedCall : torch::CustomClassHolder {
  SavedCall(RecomputedFunction given, std::size_t count) : work(std::move(given)), inputs(count) {}
  RecomputedFunction work;
  std::size_t inputs;
};

// Parameter gradients are returned to autograd, not accumulated here, so that they are summed with
// other contributions in the same order as without this function.
class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static variable_list forward(AutogradContext* context,
                               at::TensorList inputs,
                               at::TensorList parameters,
                               const RecomputedFunction& work) {
    variable_list saved = inputs.vec();
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["work"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(work, inputs.size()));
    return work(inputs.vec());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["work"].toCapsule();
    const auto& call = static_cast<const SavedCall&>(*capsule);
    variable_list leaves;  // the inputs, detached from their graph
    variable_list wanted;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      auto tensor = saved[i];
      if (i < call.inputs) {
        tensor = tensor.detach();
        tensor.set_requires_grad(context->needs_input_grad(i));
        leaves.push_back(tensor);
      }
      if (context->needs_input_grad(i)) {
        wanted.push_back(tensor);
        indices.push_back(i);
      }
    }
    variable_list result(saved.size() + 1);
    if (wanted.empty()) {
      return result;
    }
    variable_list outputs;  // those that the loss depends on
    variable_list output_gradients;
    const auto again = rerun(call, leaves);
    TORCH_CHECK(again.size() == gradients.size(), "recomputed ", again.size(), " outputs of ",
                gradients.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (gradients[i].defined() && again[i].requires_grad()) {
        outputs.push_back(again[i]);
        output_gradients.push_back(gradients[i]);
      }
    }
    if (outputs.empty()) {
      return result;
    }
    const auto found =
        torch::autograd::grad(outputs, wanted, output_gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      result[indices[i]] = found[i];
    }
    return result;
  }

 private:
  static variable_list rerun(const SavedCall& call, const variable_list& inputs) {
    const at::AutoGradMode with_gradients(true);
    return call.work(inputs);
  }
};

}  // namespace

std::vector<at::Tensor> recompute(const std::vector<at::Tensor>& inputs,
                                  const torch::nn::Module& module,
                                  const RecomputedFunction& work) {
  std::vector<at::Tensor> parameters;
  for (const auto& item : module.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.push_back(item.value());
    }
  }
  return Recompute::apply(at::TensorList(inputs), at::TensorList(parameters), work);
}

at::Tensor recompute(const at::Tensor& x,
                     const torch::nn::Module& module,
                     const std::function<at::Tensor(const at::Tensor&)>& work) {
  return recompute(std::vector{x}, module, [work](const std::vector<at::Tensor>& inputs) {
    return std::vector{work(inputs[0])};
  })[0];
}

}  // namespace weft::nn
