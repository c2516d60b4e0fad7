// Recurrent cells and their gradients. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/activation_kernels.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// NaN stays NaN.
inline Vec clipped(Vec x, float most) { return minimum(set(most), maximum(set(-most), x)); }

// c = clip(f c + i g), h = o tanh(c)
template <class T>
inline void lstm_forward(const CellForward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const x = step.from_input + row * 4 * width;
  const T* const u = step.from_state + row * 4 * width;
  T* const gates = step.gates + row * 4 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const auto gate = [&](int64_t number) {
      return load_up_to(x + number * width + i, count) + load_up_to(u + number * width + i, count);
    };
    const Vec input = sigmoid(gate(0)).value;
    const Vec forget = sigmoid(gate(1)).value;
    const Vec candidate = tanh(gate(2));
    const Vec output = sigmoid(gate(3)).value;
    const Vec before = load_up_to(step.cell_state_before + row * width + i, count);
    const Vec cell_state = clipped(fma(forget, before, input * candidate), step.cell_clip);
    store_up_to(gates + i, input, count);
    store_up_to(gates + width + i, forget, count);
    store_up_to(gates + 2 * width + i, candidate, count);
    store_up_to(gates + 3 * width + i, output, count);
    store_up_to(step.cell_state + row * width + i, cell_state, count);
    store_up_to(step.out + row * width + i, output * tanh(cell_state), count);
  });
}

// h' = n + z (h - n), n = tanh(x + r u)
template <class T>
inline void gru_forward(const CellForward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const x = step.from_input + row * 3 * width;
  const T* const u = step.from_state + row * 3 * width;
  T* const gates = step.gates + row * 3 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const Vec reset = sigmoid(load_up_to(x + i, count) + load_up_to(u + i, count)).value;
    const Vec update =
        sigmoid(load_up_to(x + width + i, count) + load_up_to(u + width + i, count)).value;
    const Vec from_state = load_up_to(u + 2 * width + i, count);
    const Vec candidate = tanh(fma(reset, from_state, load_up_to(x + 2 * width + i, count)));
    const Vec before = load_up_to(step.state + row * width + i, count);
    store_up_to(gates + i, reset, count);
    store_up_to(gates + width + i, update, count);
    store_up_to(gates + 2 * width + i, candidate, count);
    store_up_to(step.cell_state + row * width + i, from_state, count);
    store_up_to(step.out + row * width + i, fma(update, before - candidate, candidate), count);
  });
}

// First half: r, z and r h, which is multiplied next.
template <class T>
[[gnu::flatten]] void reset_forward(const CellForward<T>& step) {
  const int64_t width = step.columns;
  for (int64_t row = step.begin; row < step.end; ++row) {
    const T* const x = step.from_input + row * 3 * width;
    const T* const u = step.from_state + row * 2 * width;
    T* const gates = step.gates + row * 3 * width;
    for_each_vector(width, [&](int64_t i, int count) {
      const Vec reset = sigmoid(load_up_to(x + i, count) + load_up_to(u + i, count)).value;
      const Vec update =
          sigmoid(load_up_to(x + width + i, count) + load_up_to(u + width + i, count)).value;
      store_up_to(gates + i, reset, count);
      store_up_to(gates + width + i, update, count);
      const Vec before = load_up_to(step.state + row * width + i, count);
      store_up_to(step.out + row * width + i, reset * before, count);
    });
  }
}

// Second half: h' = n + z (h - n), n = tanh(x + u)
template <class T>
inline void candidate_forward(const CellForward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const x = step.from_input + row * 3 * width + 2 * width;
  T* const gates = step.gates + row * 3 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const int64_t at = row * width + i;
    const Vec candidate = tanh(load_up_to(x + i, count) + load_up_to(step.from_state + at, count));
    const Vec update = load_up_to(gates + width + i, count);
    const Vec before = load_up_to(step.state + at, count);
    store_up_to(gates + 2 * width + i, candidate, count);
    store_up_to(step.out + at, fma(update, before - candidate, candidate), count);
  });
}

template <class T, class Function>
inline void plain_forward(const CellForward<T>& step, int64_t row) {
  const int64_t first = row * step.columns;
  for_each_vector(step.columns, [&](int64_t i, int count) {
    const Vec sum = load_up_to(step.from_input + first + i, count) +
                    load_up_to(step.from_state + first + i, count);
    store_up_to(step.out + first + i, Function::at(sum).value, count);
  });
}

template <class T>
[[gnu::flatten]] void cell_forward(const CellForward<T>& step) {
  for (int64_t row = step.begin; row < step.end; ++row) {
    switch (step.cell) {
      case Cell::kLstm:
        lstm_forward(step, row);
        break;
      case Cell::kGru:
        gru_forward(step, row);
        break;
      case Cell::kGruResetBefore:
        candidate_forward(step, row);
        break;
      case Cell::kTanh:
        plain_forward<T, Tanh>(step, row);
        break;
      case Cell::kRelu:
        plain_forward<T, Relu>(step, row);
        break;
    }
  }
}

// Of the state after the step, but for `direct` of the GRU.
template <class T>
inline Vec state_gradient(const CellBackward<T>& step, int64_t row, int64_t i, int count) {
  const int64_t at = row * step.columns + i;
  const Vec own = load_up_to(step.gradient + at, count);
  const bool has_more = row < step.continued && step.from_next != nullptr;
  return has_more ? own + load_up_to(step.from_next + at, count) : own;
}

template <class T>
inline Vec direct_gradient(const CellBackward<T>& step, int64_t row, int64_t i, int count) {
  return row < step.continued ? load_up_to(step.direct + row * step.columns + i, count) : zero();
}

// d sigmoid = s (1 - s)
inline Vec through_sigmoid(Vec gradient, Vec value) {
  return gradient * value * (set(1.0F) - value);
}

inline Vec through_tanh(Vec gradient, Vec value) { return gradient * (set(1.0F) - value * value); }

template <class T>
inline void lstm_backward(const CellBackward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const gates = step.gates + row * 4 * width;
  T* const gradients = step.input_gradient + row * 4 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const Vec input = load_up_to(gates + i, count);
    const Vec forget = load_up_to(gates + width + i, count);
    const Vec candidate = load_up_to(gates + 2 * width + i, count);
    const Vec output = load_up_to(gates + 3 * width + i, count);
    const Vec cell_state = load_up_to(step.cell_state + row * width + i, count);
    const Vec squashed = tanh(cell_state);
    const Vec before = load_up_to(step.cell_state_before + row * width + i, count);
    const Vec dout = state_gradient(step, row, i, count);
    const Vec dclipped =
        direct_gradient(step, row, i, count) + through_tanh(dout * output, squashed);
    const Vec dcell_state = where_less(absolute(cell_state), set(step.cell_clip), dclipped, zero());
    if (step.recomputed != nullptr) {
      store_up_to(step.recomputed + row * width + i, output * squashed, count);
    }
    store_up_to(gradients + i, through_sigmoid(dcell_state * candidate, input), count);
    store_up_to(gradients + width + i, through_sigmoid(dcell_state * before, forget), count);
    store_up_to(gradients + 2 * width + i, through_tanh(dcell_state * input, candidate), count);
    store_up_to(gradients + 3 * width + i, through_sigmoid(dout * squashed, output), count);
    store_up_to(step.direct + row * width + i, dcell_state * forget, count);
  });
}

template <class T>
inline void gru_backward(const CellBackward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const gates = step.gates + row * 3 * width;
  T* const of_input = step.input_gradient + row * 3 * width;
  T* const of_state = step.state_gradient + row * 3 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const Vec reset = load_up_to(gates + i, count);
    const Vec update = load_up_to(gates + width + i, count);
    const Vec candidate = load_up_to(gates + 2 * width + i, count);
    const Vec from_state = load_up_to(step.cell_state + row * width + i, count);
    const Vec before = load_up_to(step.state + row * width + i, count);
    const Vec dout = state_gradient(step, row, i, count) + direct_gradient(step, row, i, count);
    const Vec dcandidate = through_tanh(dout * (set(1.0F) - update), candidate);
    const Vec dreset = through_sigmoid(dcandidate * from_state, reset);
    const Vec dupdate = through_sigmoid(dout * (before - candidate), update);
    store_up_to(of_input + i, dreset, count);
    store_up_to(of_input + width + i, dupdate, count);
    store_up_to(of_input + 2 * width + i, dcandidate, count);
    store_up_to(of_state + i, dreset, count);
    store_up_to(of_state + width + i, dupdate, count);
    store_up_to(of_state + 2 * width + i, dcandidate * reset, count);
    store_up_to(step.direct + row * width + i, dout * update, count);
  });
}

template <class T>
inline void candidate_backward(const CellBackward<T>& step, int64_t row) {
  const int64_t width = step.columns;
  const T* const gates = step.gates + row * 3 * width;
  T* const gradients = step.input_gradient + row * 3 * width;
  for_each_vector(width, [&](int64_t i, int count) {
    const Vec update = load_up_to(gates + width + i, count);
    const Vec candidate = load_up_to(gates + 2 * width + i, count);
    const Vec before = load_up_to(step.state + row * width + i, count);
    const Vec dout = state_gradient(step, row, i, count) + direct_gradient(step, row, i, count);
    const Vec dcandidate = through_tanh(dout * (set(1.0F) - update), candidate);
    const Vec dupdate = through_sigmoid(dout * (before - candidate), update);
    store_up_to(gradients + width + i, dupdate, count);
    store_up_to(gradients + 2 * width + i, dcandidate, count);
    store_up_to(step.direct + row * width + i, dout * update, count);
  });
}

template <class T>
[[gnu::flatten]] void reset_backward(const CellBackward<T>& step) {
  const int64_t width = step.columns;
  for (int64_t row = step.begin; row < step.end; ++row) {
    for_each_vector(width, [&](int64_t i, int count) {
      const int64_t at = row * width + i;
      const Vec reset = load_up_to(step.gates + row * 3 * width + i, count);
      const Vec before = load_up_to(step.state + at, count);
      const Vec gradient = load_up_to(step.gradient + at, count);
      const Vec dreset = through_sigmoid(gradient * before, reset);
      store_up_to(step.input_gradient + row * 3 * width + i, dreset, count);
      store_up_to(step.direct + at, fma(gradient, reset, load_up_to(step.direct + at, count)),
                  count);
      store_up_to(step.recomputed + at, reset * before, count);
    });
  }
}

template <class T>
inline void plain_backward(const CellBackward<T>& step, int64_t row) {
  for_each_vector(step.columns, [&](int64_t i, int count) {
    const int64_t at = row * step.columns + i;
    const Vec out = load_up_to(step.out + at, count);
    const Vec dout = state_gradient(step, row, i, count);
    const Vec gradient =
        step.cell == Cell::kTanh ? through_tanh(dout, out) : where_less(zero(), out, dout, zero());
    store_up_to(step.input_gradient + at, gradient, count);
  });
}

template <class T>
[[gnu::flatten]] void cell_backward(const CellBackward<T>& step) {
  for (int64_t row = step.begin; row < step.end; ++row) {
    switch (step.cell) {
      case Cell::kLstm:
        lstm_backward(step, row);
        break;
      case Cell::kGru:
        gru_backward(step, row);
        break;
      case Cell::kGruResetBefore:
        candidate_backward(step, row);
        break;
      case Cell::kTanh:
      case Cell::kRelu:
        plain_backward(step, row);
        break;
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
