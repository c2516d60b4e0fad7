#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace weft::train {

/// What an exception says that came of too little memory: bytes asked for, where it tells.
struct MemoryShortage {
  std::optional<int64_t> wanted;
};

/// Whether the exception came of too little memory, of the system's or of a device.
std::optional<MemoryShortage> shortage_of(const std::exception& error);

/// What was asked for and what is free, with sizes.
std::string words(const MemoryShortage& shortage);

/// What a run cannot do with the memory that there is, in words.
class DoesNotFit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A micro-batch did not fit. Nothing of its step is left in the gradients.
class OutOfMemory : public std::runtime_error {
 public:
  OutOfMemory(const MemoryShortage& shortage, int64_t tokens, int64_t sequences);

  int64_t tokens() const { return tokens_; }  // of the micro-batch
  int64_t sequences() const { return sequences_; }

 private:
  int64_t tokens_;
  int64_t sequences_;
};

}  // namespace weft::train
