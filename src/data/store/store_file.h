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
//   StoreHead | tokens | first token of each sentence | first sentence of each document | StoreFoot
//
// A list of offsets has one entry more than it has items, as the end of the last: 4 bytes for each
// entry, counted from the base of its group of kOffsetGroup entries, then the bases of the groups,
// 8 bytes each.

inline constexpr uint32_t kStoreVersion = 1;
inline constexpr int64_t kOffsetGroup = 256;

struct StoreHead {
  std::array<char, 8> magic{'W', 'E', 'F', 'T', 'T', 'O', 'K', '\n'};
  uint32_t version = kStoreVersion;
  uint32_t width = 0;  // bytes of a token: 2 or 4
  uint64_t key = 0;    // hash of content and settings
};

struct StoreFoot {
  int64_t tokens = 0;
  int64_t sentences = 0;
  int64_t documents = 0;
  int64_t repaired = 0;       // lines that were not UTF-8
  int64_t cuts = 0;           // of lines too long
  uint64_t checksum = 0;      // BlockDigest of all before the foot
  uint64_t own_checksum = 0;  // of the foot before this
};

/// XXH3 of a stream: the digest of each block of 1 MiB takes the one before it as its seed.
class BlockDigest {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  void add(const void* bytes, std::size_t count);
  uint64_t value() const;

 private:
  std::string block_;
  uint64_t digest_ = 0;
};

/// A list of offsets that grows in a file beside the store's, removed at the end: lists may be
/// larger than memory.
class OffsetSpill {
 public:
  explicit OffsetSpill(std::string path);
  OffsetSpill(const OffsetSpill&) = delete;
  OffsetSpill& operator=(const OffsetSpill&) = delete;
  ~OffsetSpill();

  /// Offsets never fall.
  void add(int64_t offset);
  int64_t size() const { return size_; }
  /// Calls write(bytes, count) for the whole list. Nothing may be added then.
  template <class Write>
  void finish(const Write& write);

 private:
  std::string path_;
  FileWriter file_;
  std::vector<int64_t> bases_;
  int64_t size_ = 0;
};

/// Sentences of a stretch of text as the store takes them.
struct StorePiece {
  std::string tokens;             // of the store's width
  std::vector<uint32_t> lengths;  // of the sentences, in tokens
  std::vector<std::size_t>
      borders;  // a new document begins before these sentences; rising, may repeat
  int64_t repaired = 0;
};

/// Writes a store; nothing is there under `path` before `finish`. Throws FileError.
class StoreWriter {
 public:
  StoreWriter(const std::string& path, uint32_t width, uint64_t key);

  void add(const StorePiece& piece);
  void finish(int64_t cuts);

 private:
  void write(const void* bytes, std::size_t count);

  uint32_t width_;
  FileWriter file_;
  OffsetSpill sentences_;
  OffsetSpill documents_;
  BlockDigest digest_;
  StoreFoot foot_;
  bool begins_document_ = true;  // with the next sentence
};

/// Opens a store and verifies it whole. Throws data::Error where it is damaged, of another version
/// or of another key; FileError where it cannot be read; Stopped. `foot` is its last part.
std::shared_ptr<const TokenStore> open_store_file(const std::string& path,
                                                  uint32_t width,
                                                  uint64_t key,
                                                  StoreFoot& foot);

}  // namespace weft::data
