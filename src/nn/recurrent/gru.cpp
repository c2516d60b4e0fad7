#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

constexpr int64_t kGruGates = 3;  // reset, update, candidate

/// Whether the reset gate is applied to the state's part of the candidate, as in torch::nn::GRU, or
/// to the state before its product, as in the paper.
const config::Choices<kernels::Cell> kReset = {{"after", kernels::Cell::kGru},
                                               {"before", kernels::Cell::kGruResetBefore}};

class Gru : public RecurrentCell {
 public:
  Gru(const CellOptions& options, kernels::Cell reset)
      : RecurrentCell(options, kGruGates, options.width), reset_(reset) {}

 protected:
  std::optional<kernels::CellRule> rule() const override {
    return kernels::CellRule{.cell = reset_};
  }

 private:
  kernels::Cell reset_;
};

}  // namespace

CellMaker read_gru(config::Section& section) {
  auto reset = kernels::Cell::kGru;
  section.read_choice(
      "reset", reset, kReset,
      {.help = "Where the reset gate is applied. after: to the product of the state, "
               "as in torch.nn.GRU. before: to the state, as in arXiv:1406.1078."});
  return [reset](const CellOptions& options) { return std::make_shared<Gru>(options, reset); };
}

}  // namespace weft::nn
