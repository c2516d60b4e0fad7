#include "train/distributed/gradient_exchange.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

// Of what is in no layer. Buffers of Gloo take as much memory as is in flight.
constexpr int64_t kLeastBytesInFlight = int64_t{32} << 20;

}  // namespace

GradientExchange::GradientExchange(FlatParameters& flat_parameters, ProcessGroup& group)
    : flat_parameters_(flat_parameters), group_(group), most_bytes_in_flight_(kLeastBytesInFlight) {
  const auto& layout = flat_parameters.layout();
  entries_.resize(layout.ranges().size());
  allocated_.resize(layout.ranges().size());
  for (const auto& entry : flat_parameters.entries()) {
    if (entry.is_trained) {
      entries_[layout.range_at(entry.begin)].push_back(&entry);
    }
  }
  // What is in no layer is last: embeddings often share their weights with the head.
  std::vector<const Unit*> outside;
  for (const auto& unit : layout.units()) {
    (unit.name.empty() ? outside : order_).push_back(&unit);
  }
  std::reverse(order_.begin(), order_.end());
  // One layer is being reduced; if gradients are not sharded, the sums of another are gathered.
  for (const auto* const layer : order_) {
    most_bytes_in_flight_ =
        std::max(most_bytes_in_flight_, (layout.is_sharded() ? 1 : 2) * bytes_of(*layer));
  }
  order_.insert(order_.end(), outside.begin(), outside.end());
}

int64_t GradientExchange::bytes_of(const Unit& unit) const {
  int64_t bytes = 0;
  for (const auto range : unit.ranges) {
    bytes += entries_[range].empty()
                 ? 0
                 : static_cast<int64_t>(flat_parameters_.weights(range).nbytes());
  }
  return bytes;
}

void GradientExchange::begin(const at::Tensor& gradient, bool contributes) {
  gradient_ = gradient;
  contributes_ = contributes;
  has_begun_ = true;
  sums_.reset();
  sent_ = 0;
  is_complete_.assign(order_.size(), false);
  if (!gradient.defined()) {
    allocate(*order_.back());
  }
}

void GradientExchange::unit_is_complete(const Unit& unit) {
  const auto place = std::find(order_.begin(), order_.end(), &unit) - order_.begin();
  is_complete_[static_cast<std::size_t>(place)] = true;
  while (sent_ < order_.size() && is_complete_[sent_]) {
    send(*order_[sent_++]);
  }
}

at::Tensor GradientExchange::finish() {
  const at::NoGradGuard no_grad;
  while (sent_ < order_.size()) {
    send(*order_[sent_++]);
  }
  while (!reductions_.empty()) {
    finish_reduction();
  }
  while (!gathers_.empty()) {
    finish_gather();
  }
  has_begun_ = false;
  if (!flat_parameters_.layout().is_sharded()) {
    sums_ = gradient_;
  } else if (gradient_.defined()) {
    gradient_.zero_();
  }
  gradient_.reset();
  return std::exchange(sums_, {});
}

void GradientExchange::allocate(const Unit& unit) {
  if (flat_parameters_.gradient().defined()) {
    return;
  }
  const at::NoGradGuard no_grad;
  for (const auto range : unit.ranges) {
    if (allocated_[range].defined() || entries_[range].empty()) {
      continue;
    }
    const auto& weights = flat_parameters_.weights(range);
    allocated_[range] = at::zeros(weights.sizes(), weights.options());
    const int64_t first = flat_parameters_.layout().ranges()[range].range.begin;
    for (const auto* entry : entries_[range]) {
      entry->parameter.mutable_grad() = allocated_[range]
                                            .narrow(0, entry->begin - first, entry->count)
                                            .view(entry->parameter.sizes());
    }
  }
}

/// The gradients of one range; their memory is freed after they were sent.
at::Tensor GradientExchange::take_gradient(std::size_t range) {
  for (const auto* entry : entries_[range]) {
    TORCH_CHECK(allocated_[range].defined() || !entry->parameter.grad().defined(),
                "GradientExchange: ", entry->name, " is used outside its layer");
    entry->parameter.mutable_grad().reset();
  }
  auto gradient = std::exchange(allocated_[range], {});
  if (gradient.defined() && contributes_) {
    return gradient;
  }
  const auto& weights = flat_parameters_.weights(range);
  return at::zeros(weights.sizes(), weights.options());
}

void GradientExchange::send(const Unit& unit) {
  if (group_.size() == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  advance();
  for (const auto index : unit.ranges) {
    const auto& each = flat_parameters_.layout().ranges()[index];
    if (!each.is_trained) {
      continue;
    }
    const auto flat = gradient_.defined() ? gradient_.narrow(0, each.range.begin, each.range.count)
                                          : take_gradient(index);
    for (const auto& piece : each.pieces) {
      send(piece, flat.narrow(0, piece.range.begin - each.range.begin, piece.range.count));
    }
  }
}

/// Moves the units in flight one stage on. They were sent at least one unit ago, so that the wait
/// is short where the network is as fast as the backward pass.
void GradientExchange::advance() {
  for (auto gathers = gathers_.size(); gathers > 0; --gathers) {
    finish_gather();
  }
  while (!reductions_.empty()) {
    finish_reduction();
  }
}

void GradientExchange::send(const Piece& piece, const at::Tensor& slice) {
  reductions_.push_back({group_.start_reduce_scatter(slice, piece.part), &piece, slice});
  bytes_in_flight_ += static_cast<int64_t>(slice.nbytes());
  while (bytes_in_flight_ > most_bytes_in_flight_) {
    if (reductions_.size() > 1) {
      finish_reduction();
    } else {
      finish_gather();
    }
  }
}

void GradientExchange::finish_reduction() {
  auto done = std::move(reductions_.front());
  reductions_.pop_front();
  const auto sum = group_.finish_reduce_scatter(done.transfer);
  const auto& layout = flat_parameters_.layout();
  const auto owned = done.piece->owned(group_.rank());
  if (!layout.is_sharded()) {
    if (owned.count > 0) {
      done.slice.narrow(0, owned.begin - done.piece->range.begin, owned.count).copy_(sum);
    }
    done.transfer = group_.start_all_gather(done.slice, done.piece->part);
    gathers_.push_back(std::move(done));
    return;
  }
  if (!sums_.defined()) {
    sums_ = at::zeros({layout.owned_trained_size()}, done.slice.options().dtype(at::kFloat));
  }
  if (owned.count > 0) {
    sums_.narrow(0, layout.own_position(owned.begin), owned.count).copy_(sum);
  }
  bytes_in_flight_ -= static_cast<int64_t>(done.slice.nbytes());
}

void GradientExchange::finish_gather() {
  auto done = std::move(gathers_.front());
  gathers_.pop_front();
  group_.finish_all_gather(done.transfer);
  bytes_in_flight_ -= static_cast<int64_t>(done.slice.nbytes());
}

}  // namespace weft::train
