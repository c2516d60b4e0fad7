#include <limits>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

constexpr int64_t kLstmGates = 4;  // input, forget, candidate, output

struct LstmOptions {
  double forget_bias = 0;
  std::optional<int64_t> projection = std::nullopt;  // width of the projected state
  std::optional<double> cell_clip = std::nullopt;    // largest absolute value of the cell state,
  std::optional<double> projection_clip = std::nullopt;  // and of the projected state
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
    state.cell_state = at::zeros({sequences, options_.width}, x.options().dtype(at::kFloat));
    return state;
  }

 protected:
  std::optional<kernels::CellRule> rule() const override {
    constexpr auto kNone = std::numeric_limits<double>::infinity();
    return kernels::CellRule{.cell = kernels::Cell::kLstm,
                             .cell_clip = own_.cell_clip.value_or(kNone),
                             .state_clip = own_.projection_clip.value_or(kNone)};
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
               {.help = "The cell state is clipped to this absolute value in each step, as in ELMo "
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
