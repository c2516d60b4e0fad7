#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/store/store_file.h"

namespace weft::data {

/// Writes the chunks of one share to a file beside the store that they are for. Throws FileError.
class StorePartWriter {
 public:
  StorePartWriter(const std::string& store, const StoreShare& share);

  void add(const StoreChunk& chunk);
  /// `blocks`: of all shares.
  void finish(int64_t blocks, int64_t line_splits);

 private:
  void write(const std::string& record);

  FileWriter file_;
};

/// The chunks of all shares of a store.
class StoreParts {
 public:
  /// nullopt unless the parts of all shares are there. Throws formats::Error if one is damaged.
  static std::optional<StoreParts> find(const std::string& store);

  /// Reads the next chunk of the text; false at the end. Throws formats::Error.
  bool next(StoreChunk& chunk);
  int64_t line_splits() const { return line_splits_; }
  /// Removes the files. Throws FileError.
  void remove() const;

 private:
  explicit StoreParts(std::vector<std::string> paths);

  std::vector<std::string> paths_;  // by share
  std::vector<MappedFile> files_;
  std::vector<std::string_view> rest_;  // of each file, to be read
  int64_t blocks_ = 0;
  int64_t line_splits_ = 0;
  int64_t read_ = 0;
};

}  // namespace weft::data
