#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"

namespace weft::train {

/// Adds up the gradients of all ranks: first those of a shard group, then the sums of all of these.
/// The order of additions does not depend on sharding, on the cut into pieces or on when a unit is
/// sent: the sums have the same bits with all of them. All ranks must make the same calls, except
/// for `unit_is_complete`. Calls throw DistributedError.
class GradientExchange {
 public:
  /// Both must outlive the exchange.
  GradientExchange(FlatParameters& flat_parameters, ProcessGroup& group);

  /// Begins an exchange of `gradient`, of all trained elements. Undefined if gradients are sharded:
  /// those of a unit then have memory from `allocate` until they are sent; what is in no layer is
  /// allocated here.
  void begin(const at::Tensor& gradient);
  bool has_begun() const { return has_begun_; }
  /// Before the backward pass of the unit: gives its parameters a gradient, zero, if they are
  /// sharded and have none.
  void allocate(const Unit& unit);
  /// The gradients of the unit are complete: sends it, once those before it are complete too.
  void unit_is_complete(const Unit& unit);
  /// Sends the rest and waits. Returns `gradient` with the sums, or if parameters are sharded the
  /// sums of the elements that this rank owns, in fp32; `gradient` is then zero.
  at::Tensor finish();

 private:
  enum Stage : uint8_t { kReduce, kReduceReplicas, kGatherReplicas, kGather, kStages };

  struct InFlight {
    ProcessGroup::Transfer transfer;
    const Piece* piece;
    at::Tensor slice;
    at::Tensor sum = {};  // of the elements that this rank owns
  };

  bool is_sent(std::size_t range) const;
  int64_t bytes_of(const Unit& unit) const;
  at::Tensor take_gradient(std::size_t range);
  void send(const Unit& unit);
  void advance();
  void send(const Piece& piece, const at::Tensor& slice);
  void advance_first(Stage stage);
  void reduce_replicas(InFlight item);
  void take_sum(InFlight item);

  FlatParameters& flat_parameters_;
  ProcessGroup& shard_group_;
  ProcessGroup& replica_group_;
  std::vector<std::vector<const ParameterEntry*>> entries_;  // trained ones, by range
  std::vector<at::Tensor> allocated_;  // gradients, by range; undefined without memory
  std::vector<const Unit*> order_;     // in which units are sent: that of the backward pass
  int64_t most_bytes_in_flight_;
  bool has_begun_ = false;
  at::Tensor gradient_;   // that is being sent
  at::Tensor sums_;       // of the owned elements; undefined before the first was received
  std::size_t sent_ = 0;  // units of order_
  std::vector<bool> is_complete_;
  int64_t bytes_in_flight_ = 0;
  std::array<std::deque<InFlight>, kStages> in_flight_;
};

}  // namespace weft::train
