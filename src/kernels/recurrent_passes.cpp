#include "kernels/recurrent_passes.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/product.h"

namespace weft::kernels {

namespace {

/// Such a cell keeps its gates for the backward pass.
bool has_gates(Cell cell) { return gates_of(cell) > 1; }

/// It also keeps values in fp32.
bool has_values(Cell cell) { return cell == Cell::kLstm || cell == Cell::kGru; }

/// Without the gates that are multiplied with the reset state: all but the candidate.
bool resets_before(Cell cell) { return cell == Cell::kGruResetBefore; }
int64_t first_product_gates(Cell cell) { return resets_before(cell) ? 2 : gates_of(cell); }

/// The weights of a cell by their products.
struct CellParts {
  CellParts(const CellRule& rule, const CellWeights& weights)
      : cell(rule.cell),
        width(weights.state.size(0) / gates_of(cell)),
        first_rows(first_product_gates(cell) * width),
        state(weights.state.narrow(0, 0, first_rows)),
        bias(weights.bias.narrow(0, 0, first_rows)),
        projection(weights.projection) {
    if (resets_before(cell)) {
      reset = weights.state.narrow(0, first_rows, width);
      reset_bias = weights.bias.narrow(0, first_rows, width);
    }
  }

  Cell cell;
  int64_t width;       // H
  int64_t first_rows;  // of the product with the state
  at::Tensor state;
  at::Tensor bias;
  at::Tensor reset;  // of the product with the reset state, or undefined
  at::Tensor reset_bias;
  at::Tensor projection;  // or undefined
};

/// The same, as right sides of products.
struct PackedParts {
  PackedMatrix state;
  PackedMatrix reset;
  PackedMatrix projection;
};

/// `is_forward`: x W^T, else x W.
PackedParts packed_parts(const CellParts& parts, bool is_forward) {
  const auto side = [&](const at::Tensor& weight) {
    return weight.defined() ? packed(is_forward ? weight.t() : weight) : PackedMatrix{};
  };
  return {
      .state = side(parts.state), .reset = side(parts.reset), .projection = side(parts.projection)};
}

/// Calls body(T{}, begin, end) for ranges of the rows of a step, with the element type of `like`.
template <class Body>
void for_step_rows(const at::Tensor& like, int64_t rows, const CellParts& parts, const Body& body) {
  dispatch_element_type(like, [&](auto element) {
    parallel_for(0, rows, row_grain(gates_of(parts.cell) * parts.width),
                 [&](int64_t begin, int64_t end) { body(element, begin, end); });
  });
}

class ForwardPass {
 public:
  ForwardPass(const RecurrentBatch& batch, const at::Tensor& from_input)
      : rule_(batch.rule),
        parts_(batch.rule, batch.weights),
        packed_(packed_parts(parts_, /*is_forward=*/true)),
        from_input_(from_input),
        last_(batch.before) {
    const auto like = from_input.options();
    const int64_t tokens = from_input.size(0);
    result_.after.state = at::empty({tokens, batch.weights.state.size(1)}, like);
    if (has_values(rule_.cell)) {
      result_.after.cell_state = at::empty({tokens, parts_.width}, like.dtype(at::kFloat));
    }
    if (has_gates(rule_.cell)) {
      result_.gates = at::empty_like(from_input);
    }
    if (parts_.projection.defined() || parts_.reset.defined()) {
      buffer_ = at::empty({batch.counts.front(), parts_.width}, like);
    }
  }

  /// The next step, of so many rows.
  void step(int64_t rows) {
    const auto before = last_.state.narrow(0, 0, rows);
    auto after = result_.after.state.narrow(0, first_, rows);
    const auto buffer = buffer_.defined() ? buffer_.narrow(0, 0, rows) : buffer_;
    auto from_state = product(before, packed_.state, parts_.bias);
    if (parts_.reset.defined()) {
      run(rows, from_state, before, buffer, /*is_reset=*/true);
      from_state = product(buffer, packed_.reset, parts_.reset_bias);
    }
    const bool is_projected = parts_.projection.defined();
    run(rows, from_state, before, is_projected ? buffer : after, /*is_reset=*/false);
    if (is_projected) {
      after.copy_(clipped_state(rule_, product(buffer, packed_.projection)));
    }
    last_.state = after;
    if (rule_.cell == Cell::kLstm) {
      last_.cell_state = result_.after.cell_state.narrow(0, first_, rows);
    }
    first_ += rows;
  }

  const RecurrentResult& result() const { return result_; }

 private:
  void run(int64_t rows,
           const at::Tensor& from_state,
           const at::Tensor& before,
           const at::Tensor& out,
           bool is_reset) const {
    for_step_rows(from_input_, rows, parts_, [&](auto element, int64_t begin, int64_t end) {
      using T = decltype(element);
      const auto kernel = is_reset ? operations<T>().reset_forward : operations<T>().cell_forward;
      kernel({.cell = rule_.cell,
              .begin = begin,
              .end = end,
              .columns = parts_.width,
              .cell_clip = static_cast<float>(rule_.cell_clip),
              .from_input = row_of<const T>(from_input_, first_),
              .from_state = elements<const T>(from_state),
              .state = elements<const T>(before),
              .cell_state_before = elements<const float>(last_.cell_state),
              .gates = row_of<T>(result_.gates, first_),
              .cell_state = row_of<float>(result_.after.cell_state, first_),
              .out = elements<T>(out)});
    });
  }

  CellRule rule_;
  CellParts parts_;
  PackedParts packed_;
  at::Tensor from_input_;
  RecurrentState last_;
  RecurrentResult result_;
  at::Tensor buffer_;  // of a step: the reset state, or the state before its projection
  int64_t first_ = 0;  // row of the step
};

class BackwardPass {
 public:
  BackwardPass(const RecurrentBatch& batch, RecurrentResult result, const at::Tensor& gradient)
      : batch_(batch),
        rule_(batch.rule),
        parts_(batch.rule, batch.weights),
        packed_(packed_parts(parts_, /*is_forward=*/false)),
        result_(std::move(result)),
        gradient_(parts_.projection.defined() ? gradient.clone() : gradient),
        first_(gradient.size(0)) {
    const auto like = gradient.options();
    const int64_t tokens = gradient.size(0);
    input_gradient_ = at::empty({tokens, gates_of(rule_.cell) * parts_.width}, like);
    state_gradient_ = rule_.cell == Cell::kGru ? at::empty_like(input_gradient_) : input_gradient_;
    if (has_gates(rule_.cell)) {
      direct_ = at::empty({batch.counts.front(), parts_.width}, like.dtype(at::kFloat));
    }
    if (parts_.projection.defined() || parts_.reset.defined()) {
      recomputed_ = at::empty({tokens, parts_.width}, like);
    }
  }

  /// Goes back by a step of so many rows; `earlier`: rows of the one before, 0 at the first.
  /// `continues`: whether the state before it has a gradient.
  void step(int64_t rows, int64_t earlier, bool continues) {
    first_ -= rows;
    const int64_t previous = first_ - earlier;
    const auto& states = earlier > 0 ? result_.after : batch_.before;
    run(rows, states, previous, state_gradient(rows), /*is_reset=*/false);
    auto of_product = state_gradient_.narrow(0, first_, rows);
    if (parts_.reset.defined()) {
      const auto from_reset =
          product(of_product.narrow(1, parts_.first_rows, parts_.width), packed_.reset);
      run(rows, states, previous, from_reset, /*is_reset=*/true);
      of_product = of_product.narrow(1, 0, parts_.first_rows);
    }
    from_next_ = continues ? product(of_product, packed_.state) : at::Tensor();
    continued_ = rows;
  }

  RecurrentGradients gradients(const RecurrentNeeds& needs) const {
    RecurrentGradients found;
    found.input = input_gradient_;
    found.bias = bias_gradient(state_gradient_);
    if (needs.weight) {
      found.weight = gradient_of_weight(batch_.weights.state, states_before());
    }
    if (needs.projection) {
      found.projection = weight_gradient(parts_.projection, gradient_, recomputed_);
    }
    if (needs.before) {
      found.before.state = first_gradient(from_next_, batch_.before.state);
      if (rule_.cell == Cell::kLstm) {
        found.before.cell_state = first_gradient(direct_, batch_.before.cell_state);
      } else if (has_gates(rule_.cell)) {
        found.before.state.narrow(0, 0, direct_.size(0)).add_(direct_);
      }
    }
    return found;
  }

 private:
  /// Of the states after the step, without a projection those before it.
  at::Tensor state_gradient(int64_t rows) {
    auto own = gradient_.narrow(0, first_, rows);
    if (!parts_.projection.defined()) {
      return own;  // the kernel adds from_next_
    }
    if (from_next_.defined()) {
      own.narrow(0, 0, continued_).add_(from_next_);
      from_next_.reset();
    }
    if (!std::isinf(rule_.state_clip)) {
      const auto states = result_.after.state.narrow(0, first_, rows);
      const auto clip = at::scalar_tensor(rule_.state_clip, states.options());  // rounded alike
      own.mul_(states.abs() < clip);
    }
    return product(own, packed_.projection);
  }

  void run(int64_t rows,
           const RecurrentState& states,
           int64_t previous,
           const at::Tensor& gradient,
           bool is_reset) const {
    for_step_rows(gradient_, rows, parts_, [&](auto element, int64_t begin, int64_t end) {
      using T = decltype(element);
      const auto kernel = is_reset ? operations<T>().reset_backward : operations<T>().cell_backward;
      kernel({.cell = rule_.cell,
              .begin = begin,
              .end = end,
              .columns = parts_.width,
              .continued = continued_,
              .cell_clip = static_cast<float>(rule_.cell_clip),
              .gates = row_of<const T>(result_.gates, first_),
              .state = row_of<const T>(states.state, previous),
              .out = row_of<const T>(result_.after.state, first_),
              .cell_state_before = row_of<const float>(states.cell_state, previous),
              .cell_state = row_of<const float>(result_.after.cell_state, first_),
              .gradient = elements<const T>(gradient),
              .from_next = elements<const T>(from_next_),
              .direct = elements<float>(direct_),
              .input_gradient = row_of<T>(input_gradient_, first_),
              .state_gradient = row_of<T>(state_gradient_, first_),
              .recomputed = row_of<T>(recomputed_, first_)});
    });
  }

  /// The states before each token: (N, S).
  at::Tensor states_before() const {
    const auto& counts = batch_.counts;
    std::vector<at::Tensor> all = {batch_.before.state.narrow(0, 0, counts.front())};
    int64_t first = 0;
    for (std::size_t step = 1; step < counts.size(); ++step) {
      all.push_back(result_.after.state.narrow(0, first, counts[step]));
      first += counts[step - 1];
    }
    return at::cat(all);
  }

  /// As kernels::weight_gradient, of one product or two.
  at::Tensor gradient_of_weight(const at::Tensor& weight, const at::Tensor& states) const {
    if (!parts_.reset.defined()) {
      return weight_gradient(weight, state_gradient_, states);
    }
    const auto leaf = grad_accumulator(weight);
    const auto sum = leaf.defined() ? leaf : at::zeros_like(weight);
    const auto add = [&](int64_t first, int64_t rows, const at::Tensor& x) {
      add_product(sum.narrow(0, first, rows), state_gradient_.narrow(1, first, rows).t(), x);
    };
    add(0, parts_.first_rows, states);
    add(parts_.first_rows, parts_.width, recomputed_);
    return leaf.defined() ? at::Tensor() : sum;
  }

  /// Sequences without tokens have none.
  static at::Tensor first_gradient(const at::Tensor& gradient, const at::Tensor& before) {
    auto result = at::zeros_like(before);
    result.narrow(0, 0, gradient.size(0)).copy_(gradient);
    return result;
  }

  const RecurrentBatch& batch_;
  CellRule rule_;
  CellParts parts_;
  PackedParts packed_;
  RecurrentResult result_;
  at::Tensor gradient_;  // of the states; with a projection what the next steps add is added
  at::Tensor input_gradient_;
  at::Tensor state_gradient_;  // of the product with the state
  at::Tensor direct_;
  at::Tensor recomputed_;
  at::Tensor from_next_;  // of the states after the step, by the next one
  int64_t continued_ = 0;
  int64_t first_;  // row of the step
};

}  // namespace

RecurrentResult recurrent_forward(const RecurrentBatch& batch, const at::Tensor& from_input) {
  ForwardPass pass(batch, from_input);
  for (const auto rows : batch.counts) {
    pass.step(rows);
  }
  return pass.result();
}

RecurrentGradients recurrent_backward(const RecurrentBatch& batch,
                                      const RecurrentResult& result,
                                      const at::Tensor& gradient,
                                      const RecurrentNeeds& needs) {
  BackwardPass pass(batch, result, gradient);
  const auto& counts = batch.counts;
  for (auto step = counts.size(); step > 1; --step) {
    pass.step(counts[step - 1], counts[step - 2], /*continues=*/true);
  }
  pass.step(counts.front(), 0, needs.before);
  return pass.gradients(needs);
}

}  // namespace weft::kernels
