#include "train/distributed/gradient_exchange.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

namespace {

// Of what is in no layer. Buffers of Gloo take as much memory as is in flight.
constexpr int64_t kLeastBytesInFlight = int64_t{32} << 20;

int64_t part_of(const at::Tensor& slice, const ProcessGroup& group) {
  return (slice.numel() + group.size() - 1) / group.size();
}

}  // namespace

GradientExchange::GradientExchange(FlatParameters& flat_parameters, ProcessGroup& group)
    : flat_parameters_(flat_parameters),
      shard_group_(group.shard_group()),
      replica_group_(group.replica_group()),
      most_bytes_in_flight_(kLeastBytesInFlight) {
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
  // One layer is in each stage; gradients that are sharded have no memory after the first.
  const int64_t layers = layout.is_sharded() ? 1 : replica_group_.size() > 1 ? kStages : 2;
  for (const auto* const layer : order_) {
    most_bytes_in_flight_ = std::max(most_bytes_in_flight_, layers * bytes_of(*layer));
  }
  order_.insert(order_.end(), outside.begin(), outside.end());
}

/// Whether this rank computes gradients of the range.
bool GradientExchange::is_sent(std::size_t range) const {
  const auto& layout = flat_parameters_.layout();
  return layout.ranges()[range].is_trained && layout.is_used(layout.ranges()[range]);
}

int64_t GradientExchange::bytes_of(const Unit& unit) const {
  int64_t bytes = 0;
  for (const auto range : unit.ranges) {
    bytes += is_sent(range) ? static_cast<int64_t>(flat_parameters_.weights(range).nbytes()) : 0;
  }
  return bytes;
}

void GradientExchange::begin(const at::Tensor& gradient) {
  gradient_ = gradient;
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
  for (int stage = kReduce; stage < kStages; ++stage) {
    while (!in_flight_[stage].empty()) {
      advance_first(static_cast<Stage>(stage));
    }
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
    if (allocated_[range].defined() || !is_sent(range)) {
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
  if (gradient.defined()) {
    return gradient;
  }
  const auto& weights = flat_parameters_.weights(range);
  return at::zeros(weights.sizes(), weights.options());
}

void GradientExchange::send(const Unit& unit) {
  if (shard_group_.size() * replica_group_.size() == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  advance();
  for (const auto index : unit.ranges) {
    if (!is_sent(index)) {
      continue;
    }
    const auto& each = flat_parameters_.layout().ranges()[index];
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
  for (int stage = kStages - 1; stage >= kReduce; --stage) {
    for (auto items = in_flight_[stage].size(); items > 0; --items) {
      advance_first(static_cast<Stage>(stage));
    }
  }
}

void GradientExchange::send(const Piece& piece, const at::Tensor& slice) {
  if (piece.owner) {  // which has computed with the data of all ranks of its shard group
    reduce_replicas({.transfer = ProcessGroup::Transfer(nullptr),
                     .piece = &piece,
                     .slice = {},
                     .sum = slice.to(at::kFloat)});
    return;
  }
  in_flight_[kReduce].push_back(
      {shard_group_.start_reduce_scatter(slice, piece.part), &piece, slice});
  bytes_in_flight_ += static_cast<int64_t>(slice.nbytes());
  while (bytes_in_flight_ > most_bytes_in_flight_) {
    int stage = kReduce;
    if (in_flight_[kReduce].size() == 1) {
      stage = kStages - 1;
      while (in_flight_[stage].empty()) {
        --stage;
      }
    }
    advance_first(static_cast<Stage>(stage));
  }
}

/// Waits for the first item of the stage and starts its next one.
void GradientExchange::advance_first(Stage stage) {
  auto item = std::move(in_flight_[stage].front());
  in_flight_[stage].pop_front();
  switch (stage) {
    case kReduce:
      item.sum = shard_group_.finish_reduce_scatter(item.transfer);
      if (flat_parameters_.layout().is_sharded()) {
        bytes_in_flight_ -= static_cast<int64_t>(item.slice.nbytes());
        item.slice.reset();
      }
      reduce_replicas(std::move(item));
      return;
    case kReduceReplicas: {
      const auto sum = replica_group_.finish_reduce_scatter(item.transfer);
      const auto part = part_of(item.sum, replica_group_);
      const auto begin = std::min(replica_group_.rank() * part, item.sum.numel());
      item.sum.narrow(0, begin, sum.numel()).copy_(sum);
      item.transfer = replica_group_.start_all_gather(item.sum, part);
      in_flight_[kGatherReplicas].push_back(std::move(item));
      return;
    }
    case kGatherReplicas:
      replica_group_.finish_all_gather(item.transfer);
      take_sum(std::move(item));
      return;
    default:
      shard_group_.finish_all_gather(item.transfer);
      bytes_in_flight_ -= static_cast<int64_t>(item.slice.nbytes());
  }
}

/// The sum of a shard group: adds those of the others.
void GradientExchange::reduce_replicas(InFlight item) {
  if (replica_group_.size() == 1) {
    take_sum(std::move(item));
    return;
  }
  item.transfer = replica_group_.start_reduce_scatter(item.sum, part_of(item.sum, replica_group_));
  in_flight_[kReduceReplicas].push_back(std::move(item));
}

/// Of all ranks: keeps it, or brings it to the other ranks.
void GradientExchange::take_sum(InFlight item) {
  const auto& layout = flat_parameters_.layout();
  const auto owned = item.piece->owned(shard_group_.rank());
  if (!layout.is_sharded()) {
    if (owned.count > 0 && shard_group_.size() > 1) {  // else the sum is in the slice
      item.slice.narrow(0, owned.begin - item.piece->range.begin, owned.count).copy_(item.sum);
    }
    item.transfer = shard_group_.start_all_gather(item.slice, item.piece->part);
    in_flight_[kGather].push_back(std::move(item));
    return;
  }
  if (!sums_.defined()) {
    sums_ = at::zeros({layout.owned_trained_size()}, item.sum.options().dtype(at::kFloat));
  }
  if (owned.count > 0) {
    sums_.narrow(0, layout.own_position(owned.begin), owned.count).copy_(item.sum);
  }
}

}  // namespace weft::train
