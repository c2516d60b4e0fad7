#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace weft::formats {

/// TensorBoard event file, one per run directory: `events.out.tfevents.<seconds>.<host>.<pid>.0`.
class EventWriter {
 public:
  /// Continues the newest event file of the directory, after removing events later than `step` and
  /// an incomplete last record, or creates one. Events at `step` whose tag starts with
  /// `pending_prefix` are removed too. Throws FileError.
  EventWriter(const std::string& directory, int64_t step, std::string_view pending_prefix = "");

  /// Appends one scalar. Wall times never decrease.
  void scalar(std::string_view tag, double value, int64_t step);
  /// Appends another value, a message of formats/tensorboard_values.h.
  void write(std::string_view value, int64_t step);
  /// Passes appended events to the OS. After a failure they are kept for the next attempt.
  void flush();
  /// Waits until the events are on disk.
  void sync();
  const std::string& path() const { return path_; }

 private:
  void reopen(const std::string& path, int64_t step, std::string_view pending_prefix);
  void begin(const std::string& directory);

  std::string path_;
  std::unique_ptr<FileWriter> file_;
  double wall_time_ = 0;
};

/// CRC-32C (Castagnoli) of the bytes, and its TensorFlow masked form.
uint32_t crc32c(std::string_view bytes);
uint32_t masked_crc32c(std::string_view bytes);

namespace detail {

/// Portable fallback of crc32c for CPUs without a CRC instruction.
uint32_t crc32c_plain(std::string_view bytes);

}  // namespace detail

}  // namespace weft::formats
