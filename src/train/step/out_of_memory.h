#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace weft::train {

/// Details of an out-of-memory exception: bytes requested, if known.
struct MemoryShortage {
  std::optional<int64_t> requested_bytes;
};

/// Returns the shortage if the exception means that the system or a device ran out of memory.
std::optional<MemoryShortage> memory_shortage_in(const std::exception& error);

/// Describes requested and free memory, with sizes.
std::string describe(const MemoryShortage& shortage);

/// The error for a micro-batch of one sequence in `step`, with what to change. `recomputes_layers`:
/// activation checkpointing is in use already.
std::string single_sequence_message(const std::string& step, bool recomputes_layers);

/// The available memory is too small for the run; what() explains why.
class OutOfMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A micro-batch did not fit into memory. No gradient of its step remains.
class MicroBatchOutOfMemory : public std::runtime_error {
 public:
  MicroBatchOutOfMemory(const MemoryShortage& shortage, int64_t tokens, int64_t sequences);

  int64_t tokens() const { return tokens_; }  // of the micro-batch
  int64_t sequences() const { return sequences_; }

 private:
  int64_t tokens_;
  int64_t sequences_;
};

}  // namespace weft::train
