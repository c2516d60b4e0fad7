#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/store/token_store.h"

namespace weft::data {

// The file of a token store, little-endian, each part padded to 8 bytes:
//
//   StoreHeader | tokens | first token of each sentence | first sentence of each document |
//   StoreFooter
//
// A list of offsets has one entry more than it has items, as the end of the last: 4 bytes for each
// entry, counted from the base of its group of kOffsetGroup entries, then the bases of the groups,
// 8 bytes each.

inline constexpr uint32_t kStoreVersion = 1;
inline constexpr int64_t kOffsetGroup = 256;

struct StoreHeader {
  std::array<char, 8> magic{'W', 'E', 'F', 'T', 'T', 'O', 'K', '\n'};
  uint32_t version = kStoreVersion;
  uint32_t width = 0;  // bytes per token: 2 or 4
  uint64_t key = 0;    // hash of content and settings
};

struct StoreFooter {
  int64_t tokens = 0;
  int64_t sentences = 0;
  int64_t documents = 0;
  int64_t repaired = 0;          // lines that were not UTF-8
  int64_t line_splits = 0;       // splits of overlong lines
  uint64_t checksum = 0;         // BlockDigest of everything before the footer
  uint64_t footer_checksum = 0;  // of the footer before this field
};

/// XXH3 of a stream: the digest of each 1 MiB block is seeded with that of the block before.
class BlockDigest {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  void add(const void* bytes, std::size_t count);
  uint64_t value() const;

 private:
  std::string block_;
  uint64_t digest_ = 0;
};

/// A growing list of offsets, kept in a temporary file beside the store because it may be larger
/// than memory.
class OffsetSpill {
 public:
  explicit OffsetSpill(std::string path);
  OffsetSpill(const OffsetSpill&) = delete;
  OffsetSpill& operator=(const OffsetSpill&) = delete;
  ~OffsetSpill();

  /// Offsets must not decrease.
  void add(int64_t offset);
  int64_t size() const { return size_; }
  /// Calls write(bytes, count) for the whole list. Nothing may be added afterwards.
  template <class Write>
  void finish(const Write& write);

 private:
  std::string path_;
  FileWriter file_;
  std::vector<int64_t> bases_;
  int64_t size_ = 0;
};

/// Sentences of a block of text, as passed to the store.
struct StoreChunk {
  std::string tokens;             // encoded with the store's width
  std::vector<uint32_t> lengths;  // tokens per sentence
  std::vector<std::size_t>
      boundaries;  // a new document begins before these sentences; ascending, may repeat
  int64_t repaired = 0;
};

/// Writes a store; `path` does not exist before `finish`. Throws FileError.
class StoreWriter {
 public:
  StoreWriter(const std::string& path, uint32_t width, uint64_t key);

  void add(const StoreChunk& chunk);
  void finish(int64_t line_splits);

 private:
  void write(const void* bytes, std::size_t count);

  uint32_t width_;
  FileWriter file_;
  OffsetSpill sentences_;
  OffsetSpill documents_;
  BlockDigest digest_;
  StoreFooter footer_;
  bool begins_document_ = true;  // the next sentence does
};

/// Opens a store and verifies all of it. Throws data::Error if it is damaged or has another version
/// or key; FileError if unreadable; Stopped. Fills `footer`.
std::shared_ptr<const TokenStore> open_store_file(const std::string& path,
                                                  uint32_t width,
                                                  uint64_t key,
                                                  StoreFooter& footer);

}  // namespace weft::data
