#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/shard_layout.h"

namespace weft::train {

/// All ranks' numbers, one for each kernels::kSumBlock of the trained elements that a rank owns, in
/// flat order. `own`: those of this rank. Throws DistributedError.
std::vector<double> gather_blocks(const ShardLayout& layout,
                                  ProcessGroup& group,
                                  std::vector<double> own);

/// Brings whole parameters of flat tensors that are sharded, or of which each rank has its own, to
/// rank 0, one at a time, as rank 0 asks for them.
class ShardCollector {
 public:
  /// `owners`: for each flat tensor of `run`, the rank that has the values to collect, if
  /// parameters are not sharded. Flat parameters and group must outlive the collector.
  ShardCollector(const FlatParameters& flat_parameters,
                 ProcessGroup& group,
                 std::vector<int> owners = {});

  /// On rank 0, inside `work` of `run`: the parameter's part of a flat tensor, in its shape. `own`:
  /// the elements of this rank; `number`: of the tensor, among those of `run`. Throws
  /// DistributedError.
  at::Tensor collect(const at::Tensor& own, std::size_t number, const ParameterEntry& entry) const;

  /// Runs the work on rank 0, while the others send what it asks for of their own elements of
  /// `flats`. Throws what the work throws, on rank 0 only; DistributedError.
  void run(const std::vector<at::Tensor>& flats, const std::function<void()>& work) const;

 private:
  std::vector<OwnedRange> parts_of(const ParameterEntry& entry, std::size_t number, int rank) const;
  void ask(int64_t number, int64_t entry) const;
  void serve(const std::vector<at::Tensor>& flats) const;

  const FlatParameters& flat_parameters_;
  ProcessGroup& group_;
  std::vector<int> owners_;
};

}  // namespace weft::train
