#pragma once

#include <functional>
#include <vector>

#include "formats/json.h"
#include "train/distributed/process_group.h"

namespace weft::train {

/// Divides a stream of blocks among ranks: they compute them in turn, and rank 0 receives the
/// results in the order of the blocks. All ranks must add the same blocks.
class DividedBlocks {
 public:
  using Result = formats::Json;

  /// The group must outlive the blocks.
  explicit DividedBlocks(ProcessGroup& group) : group_(group) {}

  /// Calls `compute` on the rank whose turn it is, and `write` with the result on rank 0, now or
  /// later, after those of all blocks before. Throws DistributedError.
  void add(const std::function<Result()>& compute, std::function<void(const Result&)> write);

  /// Waits for the rest.
  void finish();

 private:
  ProcessGroup& group_;
  std::vector<std::function<void(const Result&)>> writes_;  // of the blocks since the last exchange
  Result own_;                                              // of this rank's block among them
};

}  // namespace weft::train
