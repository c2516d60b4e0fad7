#include "train/distributed/weight_exchange.h"

#include <cstddef>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

WeightExchange::WeightExchange(FlatParameters& flat_parameters, ProcessGroup& group)
    : flat_parameters_(flat_parameters), group_(group.shard_group()) {
  for (const auto& unit : flat_parameters.layout().units()) {
    is_here_.push_back(!flat_parameters.shards_weights() || unit.name.empty());
  }
}

void WeightExchange::publish() {
  const auto& layout = flat_parameters_.layout();
  if (!layout.is_sharded()) {
    return;
  }
  release_all();
  for (const auto& unit : layout.units()) {
    if (!flat_parameters_.shards_weights() || unit.name.empty()) {
      for (const auto range : unit.ranges) {
        if (layout.ranges()[range].is_trained) {
          start(range);
        }
      }
      finish();
    }
  }
}

void WeightExchange::start(std::size_t range) {
  const at::NoGradGuard no_grad;
  const auto& layout = flat_parameters_.layout();
  const auto& each = layout.ranges()[range];
  if (!layout.is_used(each)) {
    return;
  }
  const auto& weights = flat_parameters_.weights(range);
  const auto& own =
      flat_parameters_.compute().defined() ? flat_parameters_.compute() : flat_parameters_.master();
  for (const auto& piece : each.pieces) {
    const auto slice = weights.narrow(0, piece.range.begin - each.range.begin, piece.range.count);
    const auto owned = piece.owned(group_.rank());
    if (owned.count > 0) {
      slice.narrow(0, owned.begin - piece.range.begin, owned.count)
          .copy_(own.narrow(0, layout.own_position(owned.begin), owned.count));
    }
    if (!each.owner) {
      in_flight_.push_back(group_.start_all_gather(slice, piece.part));
    }
  }
}

void WeightExchange::start(const Unit& unit) {
  flat_parameters_.allocate(unit);
  for (const auto range : unit.ranges) {
    start(range);
  }
  coming_ = &unit;
}

void WeightExchange::finish() {
  for (auto& each : in_flight_) {
    group_.finish_all_gather(each);
  }
  in_flight_.clear();
  if (coming_ != nullptr) {
    is_here_[index_of(*coming_)] = true;
    coming_ = nullptr;
  }
}

std::size_t WeightExchange::index_of(const Unit& unit) const {
  return static_cast<std::size_t>(&unit - flat_parameters_.layout().units().data());
}

void WeightExchange::fetch(const Unit& unit) {
  const auto index = index_of(unit);
  if (!flat_parameters_.shards_weights() || is_here_[index]) {
    return;
  }
  const auto* const other = coming_ == &unit ? nullptr : coming_;
  finish();
  if (other != nullptr) {
    release(*other);  // another one was expected
  }
  if (!is_here_[index]) {
    start(unit);
    finish();
  }
}

void WeightExchange::prefetch(const Unit& unit, int64_t step) {
  const auto& units = flat_parameters_.layout().units();
  const auto next = index_of(unit) + static_cast<std::size_t>(step);  // may wrap
  int layers_here = 0;
  for (const auto& each : units) {
    layers_here += !each.name.empty() && is_here_[index_of(each)] ? 1 : 0;
  }
  if (flat_parameters_.shards_weights() && coming_ == nullptr && layers_here < 2 &&
      next < units.size() && !units[next].name.empty() && !is_here_[next]) {
    start(units[next]);
  }
}

void WeightExchange::release(const Unit& unit) {
  const auto index = index_of(unit);
  if (flat_parameters_.shards_weights() && !unit.name.empty() && is_here_[index]) {
    flat_parameters_.release(unit);
    is_here_[index] = false;
  }
}

void WeightExchange::release_all() {
  finish();
  for (const auto& unit : flat_parameters_.layout().units()) {
    release(unit);
  }
}

}  // namespace weft::train
