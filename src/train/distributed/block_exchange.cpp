#include "train/distributed/block_exchange.h"

namespace weft::train {

BlockExchange::BlockExchange(const torch::nn::Module& module,
                             const FlatParameters& flat_parameters,
                             GradientExchange& gradients,
                             WeightExchange& weights)
    : gradients_(gradients), weights_(weights) {
  for (const auto& item : module.named_modules()) {
    const auto* const block = dynamic_cast<const nn::Block*>(item.value().get());
    for (const auto& unit : flat_parameters.layout().units()) {
      if (block != nullptr && unit.name == item.key()) {
        units_[block] = &unit;
      }
    }
  }
}

const Unit* BlockExchange::unit_of(const nn::Block& block) const {
  const auto found = units_.find(&block);
  return found == units_.end() ? nullptr : found->second;
}

void BlockExchange::begin_forward(bool sends_gradients) {
  sends_gradients_ = sends_gradients;
  is_backward_ = false;
  passes_.clear();
}

void BlockExchange::end() {
  sends_gradients_ = false;
  is_backward_ = false;
  weights_.release_all();
}

void BlockExchange::before_forward(const nn::Block& block) {
  if (const auto* const unit = unit_of(block)) {
    weights_.fetch(*unit);
    last_ = unit;
    if (!is_backward_) {
      weights_.prefetch_next(*unit);
      ++passes_[unit];
    }
  }
}

void BlockExchange::after_forward(const nn::Block& block) {
  const auto* const unit = unit_of(block);
  if (unit != nullptr && !is_backward_) {  // a pass that is repeated is followed by its backward
    weights_.release(*unit);
  }
}

void BlockExchange::before_backward(const nn::Block& block) {
  if (const auto* const unit = unit_of(block)) {
    weights_.fetch(*unit);
    gradients_.allocate(*unit);
    last_ = unit;
    weights_.prefetch_previous(*unit);
  }
}

void BlockExchange::after_backward(const nn::Block& block) {
  const auto* const unit = unit_of(block);
  if (unit == nullptr || --passes_[unit] > 0) {
    return;
  }
  if (sends_gradients_) {
    gradients_.unit_is_complete(*unit);
  }
  weights_.release(*unit);
  weights_.prefetch_previous(*last_);
}

}  // namespace weft::train
