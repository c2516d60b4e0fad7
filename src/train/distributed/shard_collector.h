#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
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

/// Saves flat tensors that are sharded, or of which each rank has its own: all ranks write what
/// they own into a file, or send whole parameters to rank 0, one at a time, as rank 0 asks for
/// them.
class ShardCollector {
 public:
  /// A parameter's part of a flat tensor in a file.
  struct FileTensor {
    std::size_t number = 0;  // of the flat tensor, among those of `run`
    const ParameterEntry* entry = nullptr;
    int64_t position = 0;  // of its first byte
  };

  /// `owners`: for each flat tensor of `run`, the rank that has the values to collect, if
  /// parameters are not sharded. Flat parameters and group must outlive the collector.
  ShardCollector(const FlatParameters& flat_parameters,
                 ProcessGroup& group,
                 std::vector<int> owners = {});

  /// On rank 0, inside `work` of `run`: the parameter's part of a flat tensor, in its shape. `own`:
  /// the elements of this rank; `number`: of the tensor, among those of `run`. Throws
  /// DistributedError.
  at::Tensor collect(const at::Tensor& own, std::size_t number, const ParameterEntry& entry) const;

  /// On rank 0, inside `work` of `run`: all ranks write their elements of these tensors, fp32, into
  /// the file, which must be as long already. `flats`: those of `run`. Returns false, with the file
  /// unusable, if a rank does not see the same file, as on a disk of another machine. Throws
  /// FileError if a rank cannot write; DistributedError.
  bool write(const std::string& path,
             const std::vector<FileTensor>& tensors,
             const std::vector<at::Tensor>& flats) const;

  /// Runs the work on rank 0, while the others send what it asks for of their own elements of
  /// `flats`. Throws what the work throws, on rank 0 only; DistributedError.
  void run(const std::vector<at::Tensor>& flats, const std::function<void()>& work) const;

 private:
  std::vector<OwnedRange> parts_of(const ParameterEntry& entry, std::size_t number, int rank) const;
  void ask(int64_t number, int64_t entry) const;
  std::vector<std::string> write_own(const std::string& request,
                                     const std::vector<at::Tensor>& flats) const;
  void serve(const std::vector<at::Tensor>& flats) const;

  const FlatParameters& flat_parameters_;
  ProcessGroup& group_;
  bool is_needed_;  // false: other ranks have the same part
  std::vector<int> owners_;
};

}  // namespace weft::train
