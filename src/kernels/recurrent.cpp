#include "kernels/recurrent.h"

#include <cmath>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/operation_profiler.h"
#include "kernels/recurrent_passes.h"
#include "kernels/to_device.h"

namespace weft::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor clipped(const at::Tensor& x, double most) {
  return std::isinf(most) ? x : x.clamp(-most, most);
}

class RecurrentStates : public torch::autograd::Function<RecurrentStates> {
 public:
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& from_input,
                               const at::Tensor& weight,
                               const at::Tensor& bias,
                               const at::Tensor& state,
                               const std::optional<at::Tensor>& cell_state,
                               const std::optional<at::Tensor>& projection,
                               const CellRule& rule,
                               const std::vector<int64_t>& counts) {
    const RecurrentBatch batch{
        .rule = rule,
        .weights = {.state = weight, .bias = bias, .projection = projection.value_or(at::Tensor())},
        .before = {.state = state, .cell_state = cell_state.value_or(at::Tensor())},
        .counts = counts};
    const auto result = recurrent_forward(batch, from_input);
    const auto& after = result.after;
    context->save_for_backward({weight, bias, batch.weights.projection, state,
                                batch.before.cell_state, after.state, after.cell_state,
                                result.gates});
    context->saved_data["cell"] = static_cast<int64_t>(rule.cell);
    context->saved_data["cell_clip"] = rule.cell_clip;
    context->saved_data["state_clip"] = rule.state_clip;
    context->saved_data["counts"] = counts;
    if (rule.cell != Cell::kLstm) {
      return {after.state};
    }
    context->mark_non_differentiable({after.cell_state});
    return {after.state, after.cell_state};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const ScopedOperationTimer timer(Operation::kMatmul);
    const auto saved = context->get_saved_variables();
    const RecurrentBatch batch{
        .rule = {.cell = static_cast<Cell>(context->saved_data["cell"].toInt()),
                 .cell_clip = context->saved_data["cell_clip"].toDouble(),
                 .state_clip = context->saved_data["state_clip"].toDouble()},
        .weights = {.state = saved[0], .bias = saved[1], .projection = saved[2]},
        .before = {.state = saved[3], .cell_state = saved[4]},
        .counts = context->saved_data["counts"].toIntVector()};
    const RecurrentResult result{.after = {.state = saved[5], .cell_state = saved[6]},
                                 .gates = saved[7]};
    // Arguments that are left out have no number.
    const bool has_cell_state = batch.before.cell_state.defined();
    const bool is_projected = batch.weights.projection.defined();
    const RecurrentNeeds needs{
        .weight = context->needs_input_grad(1),
        .projection = is_projected && context->needs_input_grad(has_cell_state ? 5 : 4),
        .before = context->needs_input_grad(3) || (has_cell_state && context->needs_input_grad(4))};
    const auto found = recurrent_backward(batch, result, gradients[0].contiguous(), needs);
    return {found.input,      found.weight, found.bias, found.before.state, found.before.cell_state,
            found.projection, {},           {}};
  }
};

/// Gathers in both directions: the gradient of index_select would add rows one by one.
class PermutedRows : public torch::autograd::Function<PermutedRows> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const std::vector<int64_t>& order,
                            const std::vector<int64_t>& inverse) {
    context->saved_data["inverse"] = inverse;
    return x.index_select(0, to_device(order, x.device()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto inverse = context->saved_data["inverse"].toIntVector();
    return {gradients[0].index_select(0, to_device(inverse, gradients[0].device())), {}, {}};
  }
};

}  // namespace

int64_t gates_of(Cell cell) {
  switch (cell) {
    case Cell::kLstm:
      return 4;
    case Cell::kGru:
    case Cell::kGruResetBefore:
      return 3;
    case Cell::kTanh:
    case Cell::kRelu:
      break;
  }
  return 1;
}

RecurrentState cell_step(const CellRule& rule,
                         const at::Tensor& from_input,
                         const StateProduct& from_state,
                         const RecurrentState& before) {
  const auto cell = rule.cell;
  const auto product = from_state(before.state);
  if (gates_of(cell) == 1) {
    const auto sum = from_input + product;
    return {.state = cell == Cell::kTanh ? at::tanh(sum) : at::relu(sum), .cell_state = {}};
  }
  const auto x = from_input.chunk(gates_of(cell), 1);
  const auto u = product.chunk(gates_of(cell), 1);
  const auto first = at::sigmoid(x[0] + u[0]);
  const auto second = at::sigmoid(x[1] + u[1]);
  if (cell != Cell::kLstm) {
    const auto of_candidate = cell == Cell::kGru
                                  ? first * u[2]
                                  : from_state(first * before.state).chunk(gates_of(cell), 1)[2];
    const auto candidate = at::tanh(x[2] + of_candidate);
    return {.state = candidate + second * (before.state - candidate), .cell_state = {}};
  }
  const auto cell_state =
      clipped(second * before.cell_state + first * at::tanh(x[2] + u[2]), rule.cell_clip);
  return {.state = (at::sigmoid(x[3] + u[3]) * at::tanh(cell_state)).to(from_input.scalar_type()),
          .cell_state = cell_state};
}

at::Tensor clipped_state(const CellRule& rule, const at::Tensor& state) {
  return clipped(state, rule.state_clip);
}

bool has_recurrent_kernel(const at::Tensor& from_input) { return has_vector_kernel(from_input); }

RecurrentState recurrent_states(const CellRule& rule,
                                const at::Tensor& from_input,
                                const CellWeights& weights,
                                const RecurrentState& before,
                                const std::vector<int64_t>& counts) {
  const ScopedOperationTimer timer(Operation::kMatmul);
  const auto& weight = weights.state;
  const auto& projection = weights.projection;
  const int64_t width = weight.size(0) / gates_of(rule.cell);
  TORCH_CHECK(from_input.dim() == 2 && weight.dim() == 2 && from_input.size(1) == weight.size(0),
              "recurrent_states expects from_input (N, G H) and weight (G H, S), got ",
              from_input.sizes(), " and ", weight.sizes());
  TORCH_CHECK(projection.defined() ? rule.cell == Cell::kLstm && projection.size(1) == width &&
                                         projection.size(0) == weight.size(1)
                                   : weight.size(1) == width,
              "recurrent_states expects a state of width ", width,
              " or, of an LSTM, one that is projected from it, got ", weight.size(1));
  const auto contiguous = [](const at::Tensor& x) { return x.defined() ? x.contiguous() : x; };
  const auto found = RecurrentStates::apply(
      from_input.contiguous(), weight, weights.bias, before.state.contiguous(),
      optional(contiguous(before.cell_state)), optional(projection), rule, counts);
  return {.state = found[0], .cell_state = found.size() > 1 ? found[1] : at::Tensor()};
}

at::Tensor permuted_rows(const at::Tensor& x,
                         const std::vector<int64_t>& order,
                         const std::vector<int64_t>& inverse) {
  return PermutedRows::apply(x, order, inverse);
}

}  // namespace weft::kernels
