#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

constexpr int64_t kGruGates = 3;  // reset, update, candidate

/// Whether the reset gate is applied to the state's part of the candidate, as in torch::nn::GRU, or
/// to the state before its product, as in the paper.
enum class Reset { kAfter, kBefore };

const config::Choices<Reset> kReset = {{"after", Reset::kAfter}, {"before", Reset::kBefore}};

class Gru : public RecurrentCell {
 public:
  Gru(const CellOptions& options, Reset reset)
      : RecurrentCell(options, kGruGates, options.width), reset_(reset) {}

 protected:
  std::optional<kernels::Cell> kernel() const override {
    return reset_ == Reset::kAfter ? std::optional(kernels::Cell::kGru) : std::nullopt;
  }

  kernels::RecurrentState step(const at::Tensor& from_input,
                               const kernels::RecurrentState& before,
                               const ForwardContext& context) override {
    if (reset_ == Reset::kAfter) {
      return RecurrentCell::step(from_input, before, context);
    }
    const auto x = from_input.chunk(kGruGates, 1);
    const auto u = hidden_->forward(before.state, context).chunk(kGruGates, 1);
    const auto reset = at::sigmoid(x[0] + u[0]);
    const auto update = at::sigmoid(x[1] + u[1]);
    const auto from_state = hidden_->forward(reset * before.state, context).chunk(kGruGates, 1)[2];
    const auto candidate = at::tanh(x[2] + from_state);
    return {.state = candidate + update * (before.state - candidate), .memory = {}};
  }

 private:
  Reset reset_;
};

}  // namespace

CellMaker read_gru(config::Section& section) {
  auto reset = Reset::kAfter;
  section.read_choice(
      "reset", reset, kReset,
      {.help = "Where the reset gate is applied. after: to the product of the state, "
               "as in torch.nn.GRU. before: to the state, as in arXiv:1406.1078."});
  return [reset](const CellOptions& options) { return std::make_shared<Gru>(options, reset); };
}

}  // namespace weft::nn
