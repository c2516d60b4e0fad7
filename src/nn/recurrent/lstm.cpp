#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

constexpr int64_t kLstmGates = 4;  // input, forget, candidate, output

struct LstmOptions {
  double forget_bias = 0;
  std::optional<int64_t> projection = std::nullopt;  // width of the projected state
};

class Lstm : public RecurrentCell {
 public:
  Lstm(const CellOptions& options, const LstmOptions& own)
      : RecurrentCell(options, kLstmGates, own.projection.value_or(options.width)), own_(own) {
    if (own.projection) {
      projection_ = register_module(
          "projection", Linear(LinearOptions{options.width, *own.projection, /*has_bias=*/false}));
    }
  }

  kernels::RecurrentState initial_state(int64_t sequences, const at::Tensor& x) const override {
    auto state = RecurrentCell::initial_state(sequences, x);
    state.memory = at::zeros({sequences, options_.width}, x.options().dtype(at::kFloat));
    return state;
  }

 protected:
  std::optional<kernels::Cell> kernel() const override {
    return own_.projection ? std::nullopt : std::optional(kernels::Cell::kLstm);
  }

  kernels::RecurrentState step(const at::Tensor& from_input,
                               const kernels::RecurrentState& before,
                               const ForwardContext& context) override {
    auto after = kernels::cell_step(kernels::Cell::kLstm, from_input,
                                    hidden_->forward(before.state, context), before);
    if (own_.projection) {
      after.state = projection_->forward(after.state, context);
    }
    return after;
  }

  at::Tensor gate_offsets() const override {
    if (own_.forget_bias == 0) {
      return {};
    }
    auto offsets = at::zeros({kLstmGates, options_.width}, hidden_->bias().options());
    offsets[1].fill_(own_.forget_bias);
    return offsets.view({-1});
  }

 private:
  LstmOptions own_;
  Linear projection_{nullptr};  // (S, H)
};

}  // namespace

CellMaker read_lstm(config::Section& section) {
  LstmOptions own;
  section.read(
      "forget_bias", own.forget_bias,
      {.help = "Added to the forget gate before its sigmoid; 1 makes a new model remember.",
       .range = config::between(-100, 100)});
  section.read(
      "projection", own.projection,
      {.help = "Width of the state after a projection, as proj_size of torch.nn.LSTM; null: "
               "not projected.",
       .unit = "features",
       .range = config::between(1, 1 << 20)});
  return [own](const CellOptions& options) { return std::make_shared<Lstm>(options, own); };
}

}  // namespace weft::nn
