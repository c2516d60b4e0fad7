#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

const config::Choices<kernels::Cell> kActivations = {{"tanh", kernels::Cell::kTanh},
                                                     {"relu", kernels::Cell::kRelu}};

class Rnn : public RecurrentCell {
 public:
  Rnn(const CellOptions& options, kernels::Cell activation)
      : RecurrentCell(options, 1, options.width), activation_(activation) {}

 protected:
  std::optional<kernels::CellRule> rule() const override {
    return kernels::CellRule{.cell = activation_};
  }

 private:
  kernels::Cell activation_;
};

}  // namespace

CellMaker read_rnn(config::Section& section) {
  auto activation = kernels::Cell::kTanh;
  section.read_choice("activation", activation, kActivations, {.help = "Of the state."});
  return [activation](const CellOptions& options) {
    return std::make_shared<Rnn>(options, activation);
  };
}

}  // namespace weft::nn
