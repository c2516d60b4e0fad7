#include "kernels/recurrent.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/product.h"
#include "kernels/operation_profiler.h"
#include "kernels/to_device.h"

namespace weft::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor plain_activation(Cell cell, const at::Tensor& x) {
  return cell == Cell::kTanh ? at::tanh(x) : at::relu(x);
}

/// Such a cell keeps its gates, and values in fp32, for the backward pass.
bool has_gates(Cell cell) { return cell == Cell::kLstm || cell == Cell::kGru; }

template <class T>
T* row_of(const at::Tensor& x, int64_t row) {
  return x.defined() ? elements<T>(x) + row * x.size(1) : nullptr;
}

/// The passes over the steps of a batch.
class Passes {
 public:
  Passes(Cell cell, const std::vector<int64_t>& counts, int64_t width)
      : cell_(cell), counts_(counts), width_(width) {}

  /// Fills the states, the memory and the gates, which a cell without gates does not have.
  void forward(const at::Tensor& from_input,
               const at::Tensor& weight,
               const at::Tensor& bias,
               const RecurrentState& before,
               const RecurrentState& after,
               const at::Tensor& gates) const {
    const auto packed_weight = packed(weight.t());
    int64_t first = 0;
    RecurrentState last = before;
    for (const auto rows : counts_) {
      const auto state = last.state.narrow(0, 0, rows);
      const auto from_state = product(state, packed_weight, bias);
      dispatch_element_type(from_input, [&](auto element) {
        using T = decltype(element);
        parallel_for(0, rows, row_grain(gates_of(cell_) * width_), [&](int64_t begin, int64_t end) {
          operations<T>().cell_forward({.cell = cell_,
                                        .begin = begin,
                                        .end = end,
                                        .columns = width_,
                                        .from_input = row_of<const T>(from_input, first),
                                        .from_state = elements<const T>(from_state),
                                        .state = elements<const T>(state),
                                        .memory_before = elements<const float>(last.memory),
                                        .gates = row_of<T>(gates, first),
                                        .memory = row_of<float>(after.memory, first),
                                        .out = row_of<T>(after.state, first)});
        });
      });
      last.state = after.state.narrow(0, first, rows);
      last.memory = cell_ == Cell::kLstm ? after.memory.narrow(0, first, rows) : at::Tensor();
      first += rows;
    }
  }

  struct Gradients {
    at::Tensor input;  // (N, gates)
    at::Tensor state;  // (N, gates)
  };

  Gradients backward(const at::Tensor& weight,
                     const RecurrentState& before,
                     const RecurrentState& after,
                     const at::Tensor& gates,
                     const at::Tensor& gradient) const {
    const int64_t tokens = after.state.size(0);
    Gradients result;
    result.input = at::empty({tokens, gates_of(cell_) * width_}, after.state.options());
    result.state = cell_ == Cell::kGru ? at::empty_like(result.input) : result.input;
    const auto packed_weight = packed(weight);
    const auto direct = has_gates(cell_) ? at::empty({before.state.size(0), width_},
                                                     after.state.options().dtype(at::kFloat))
                                         : at::Tensor();
    at::Tensor from_next;
    int64_t first = tokens;
    int64_t continued = 0;
    for (auto step = counts_.size(); step > 0; --step) {
      const int64_t rows = counts_[step - 1];
      first -= rows;
      const bool is_first = step == 1;
      const int64_t previous = is_first ? 0 : first - counts_[step - 2];
      const auto& states = is_first ? before : after;
      dispatch_element_type(after.state, [&](auto element) {
        using T = decltype(element);
        parallel_for(0, rows, row_grain(gates_of(cell_) * width_), [&](int64_t begin, int64_t end) {
          operations<T>().cell_backward(
              {.cell = cell_,
               .begin = begin,
               .end = end,
               .columns = width_,
               .continued = continued,
               .gates = row_of<const T>(gates, first),
               .state = row_of<const T>(states.state, previous),
               .out = row_of<const T>(after.state, first),
               .memory_before = row_of<const float>(states.memory, previous),
               .memory = row_of<const float>(after.memory, first),
               .gradient = row_of<const T>(gradient, first),
               .from_next = elements<const T>(from_next),
               .direct = elements<float>(direct),
               .input_gradient = row_of<T>(result.input, first),
               .state_gradient = row_of<T>(result.state, first)});
        });
      });
      if (!is_first) {
        from_next = product(result.state.narrow(0, first, rows), packed_weight);
      }
      continued = rows;
    }
    return result;
  }

  /// The states before each token: (N, H).
  at::Tensor states_before(const at::Tensor& before, const at::Tensor& states) const {
    std::vector<at::Tensor> all;
    int64_t first = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step) {
      all.push_back(step == 0 ? before.narrow(0, 0, counts_[0])
                              : states.narrow(0, first, counts_[step]));
      first += step == 0 ? 0 : counts_[step - 1];
    }
    return at::cat(all);
  }

 private:
  Cell cell_;
  const std::vector<int64_t>& counts_;
  int64_t width_;
};

class RecurrentStates : public torch::autograd::Function<RecurrentStates> {
 public:
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& given,
                               const at::Tensor& weight,
                               const at::Tensor& bias,
                               const RecurrentState& before,
                               Cell cell,
                               const std::vector<int64_t>& counts) {
    const auto from_input = given.contiguous();
    const int64_t tokens = from_input.size(0);
    const int64_t width = weight.size(1);
    const auto wide = from_input.options().dtype(at::kFloat);
    const RecurrentState after{
        .state = at::empty({tokens, width}, from_input.options()),
        .memory = has_gates(cell) ? at::empty({tokens, width}, wide) : at::Tensor()};
    const auto gates = has_gates(cell) ? at::empty_like(from_input) : at::Tensor();
    Passes(cell, counts, width).forward(from_input, weight, bias, before, after, gates);
    context->save_for_backward(
        {weight, before.state, before.memory, after.state, after.memory, gates});
    context->saved_data["cell"] = static_cast<int64_t>(cell);
    context->saved_data["counts"] = counts;
    if (cell != Cell::kLstm) {
      return {after.state};
    }
    context->mark_non_differentiable({after.memory});
    return {after.state, after.memory};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const ScopedOperationTimer timer(Operation::kMatmul);
    const auto saved = context->get_saved_variables();
    const auto& weight = saved[0];
    const RecurrentState before{.state = saved[1], .memory = saved[2]};
    const RecurrentState after{.state = saved[3], .memory = saved[4]};
    const auto cell = static_cast<Cell>(context->saved_data["cell"].toInt());
    const auto counts = context->saved_data["counts"].toIntVector();
    const Passes passes(cell, counts, weight.size(1));
    const auto found = passes.backward(weight, before, after, saved[5], gradients[0].contiguous());
    at::Tensor dweight;
    at::Tensor dbias;
    if (context->needs_input_grad(1)) {
      dweight =
          weight_gradient(weight, found.state, passes.states_before(before.state, after.state));
    }
    if (context->needs_input_grad(2)) {
      dbias = bias_gradient(found.state);
    }
    return {found.input, dweight, dbias, {}, {}, {}};
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
      return 3;
    case Cell::kTanh:
    case Cell::kRelu:
      break;
  }
  return 1;
}

RecurrentState cell_step(Cell cell,
                         const at::Tensor& from_input,
                         const at::Tensor& from_state,
                         const RecurrentState& before) {
  if (!has_gates(cell)) {
    return {.state = plain_activation(cell, from_input + from_state), .memory = {}};
  }
  const auto x = from_input.chunk(gates_of(cell), 1);
  const auto u = from_state.chunk(gates_of(cell), 1);
  const auto first = at::sigmoid(x[0] + u[0]);
  const auto second = at::sigmoid(x[1] + u[1]);
  if (cell == Cell::kGru) {
    const auto candidate = at::tanh(x[2] + first * u[2]);
    return {.state = candidate + second * (before.state - candidate), .memory = {}};
  }
  const auto memory = second * before.memory + first * at::tanh(x[2] + u[2]);
  return {.state = (at::sigmoid(x[3] + u[3]) * at::tanh(memory)).to(from_input.scalar_type()),
          .memory = memory};
}

bool has_recurrent_kernel(const at::Tensor& from_input) { return has_vector_kernel(from_input); }

RecurrentState recurrent_states(Cell cell,
                                const at::Tensor& from_input,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const RecurrentState& before,
                                const std::vector<int64_t>& counts) {
  const ScopedOperationTimer timer(Operation::kMatmul);
  TORCH_CHECK(weight.dim() == 2 && weight.size(0) == gates_of(cell) * weight.size(1) &&
                  from_input.dim() == 2 && from_input.size(1) == weight.size(0),
              "recurrent_states expects from_input (N, G H) and weight (G H, H), got ",
              from_input.sizes(), " and ", weight.sizes());
  const RecurrentState contiguous{
      .state = before.state.contiguous(),
      .memory = before.memory.defined() ? before.memory.contiguous() : before.memory};
  const auto found = RecurrentStates::apply(from_input, weight, bias, contiguous, cell, counts);
  return {.state = found[0], .memory = found.size() > 1 ? found[1] : at::Tensor()};
}

at::Tensor permuted_rows(const at::Tensor& x,
                         const std::vector<int64_t>& order,
                         const std::vector<int64_t>& inverse) {
  return PermutedRows::apply(x, order, inverse);
}

}  // namespace weft::kernels
