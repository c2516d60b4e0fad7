#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

constexpr int64_t kLstmGates = 4;  // input, forget, candidate, output

struct LstmOptions {
  double forget_bias = 0;
  std::optional<int64_t> projection = std::nullopt;      // width of the projected state
  std::optional<double> cell_clip = std::nullopt;        // largest absolute value of the memory,
  std::optional<double> projection_clip = std::nullopt;  // and of the projected state
};

at::Tensor clipped(const at::Tensor& x, const std::optional<double>& most) {
  return most ? x.clamp(-*most, *most) : x;
}

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
    return own_.projection || own_.cell_clip ? std::nullopt : std::optional(kernels::Cell::kLstm);
  }

  kernels::RecurrentState step(const at::Tensor& from_input,
                               const kernels::RecurrentState& before,
                               const ForwardContext& context) override {
    const auto from_state = hidden_->forward(before.state, context);
    auto after = own_.cell_clip
                     ? clipped_step(from_input + from_state, before)
                     : kernels::cell_step(kernels::Cell::kLstm, from_input, from_state, before);
    if (own_.projection) {
      after.state = clipped(projection_->forward(after.state, context), own_.projection_clip);
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
  kernels::RecurrentState clipped_step(const at::Tensor& gates,
                                       const kernels::RecurrentState& before) const {
    const auto gate = gates.chunk(kLstmGates, 1);
    const auto memory =
        clipped(at::sigmoid(gate[1]) * before.memory + at::sigmoid(gate[0]) * at::tanh(gate[2]),
                own_.cell_clip);
    return {.state = (at::sigmoid(gate[3]) * at::tanh(memory)).to(gates.scalar_type()),
            .memory = memory};
  }

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
  constexpr config::Range kClip = {.min = 0, .max = 1e6, .is_min_exclusive = true};
  section.read("cell_clip", own.cell_clip,
               {.help = "The memory is clipped to this absolute value in each step, as in ELMo "
                        "(arXiv:1802.05365); null: it is not.",
                .range = kClip});
  section.read("projection_clip", own.projection_clip,
               {.help = "The same for the projected state.", .range = kClip});
  if (own.projection_clip && !own.projection) {
    section.report("projection_clip", "has no effect here, only with projection");
  }
  return [own](const CellOptions& options) { return std::make_shared<Lstm>(options, own); };
}

}  // namespace weft::nn
