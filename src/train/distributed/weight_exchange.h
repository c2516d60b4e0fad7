#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"

namespace weft::train {

/// Brings the weights of sharded parameters to the ranks that compute with them. With
/// Sharding::kAll a layer has memory for its weights only while it is used, and the next one while
/// it is fetched. All ranks must make the same calls. Calls throw DistributedError.
class WeightExchange {
 public:
  /// Both must outlive the exchange.
  WeightExchange(FlatParameters& flat_parameters, ProcessGroup& group);

  /// After an update of the owned weights: copies them to all ranks, except for layers that are
  /// fetched when they are used.
  void publish();

  /// Fetches the weights of a unit, unless they are here.
  void fetch(const Unit& unit);
  /// Begins to fetch those of the layer after this one, or before it, unless two layers are here
  /// already.
  void prefetch_next(const Unit& unit) { prefetch(unit, 1); }
  void prefetch_previous(const Unit& unit) { prefetch(unit, -1); }
  /// The unit's weights are not needed for now.
  void release(const Unit& unit);
  /// Releases all layers, at the end of a pass.
  void release_all();

 private:
  std::size_t index_of(const Unit& unit) const;
  void prefetch(const Unit& unit, int64_t step);
  void start(std::size_t range);
  void start(const Unit& unit);
  void finish();

  FlatParameters& flat_parameters_;
  ProcessGroup& group_;  // shard group
  std::vector<ProcessGroup::Transfer> in_flight_;
  const Unit* coming_ = nullptr;  // the unit of in_flight_
  std::vector<bool> is_here_;     // by unit
};

}  // namespace weft::train
