#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace weft::formats {

/// TensorBoard's event file, one per run directory: `events.out.tfevents.<seconds>.<host>.<pid>.0`.
class EventWriter {
 public:
  /// Goes on with the newest event file of the directory, after cutting off the events later than
  /// `step` (and a torn end), or begins one. `owed`: those at `step` whose tag begins so are cut
  /// off too. Throws FileError.
  EventWriter(const std::string& directory, int64_t step, std::string_view owed = "");

  /// Appends one number. Wall times never go back.
  void scalar(std::string_view tag, double value, int64_t step);
  /// Hands what was appended to the system. After a failure it is kept for the next try.
  void flush();
  /// Waits until it is on the disk.
  void sync();
  const std::string& path() const { return path_; }

 private:
  void reopen(const std::string& path, int64_t step, std::string_view owed);
  void begin(const std::string& directory);

  std::string path_;
  std::unique_ptr<FileWriter> file_;
  double wall_time_ = 0;
};

/// CRC-32C (Castagnoli) of the bytes, and TensorFlow's mask of it.
uint32_t crc32c(std::string_view bytes);
uint32_t masked_crc32c(std::string_view bytes);

namespace detail {

/// What crc32c does where the processor has no instruction for it.
uint32_t crc32c_plain(std::string_view bytes);

}  // namespace detail

}  // namespace weft::formats
