#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::formats {

/// Physical types, numbered as in the format.
enum class ParquetType {
  kBoolean,
  kInt32,
  kInt64,
  kInt96,
  kFloat,
  kDouble,
  kByteArray,
  kFixedLengthByteArray
};

/// A leaf of the schema. Its value is present where the definition level is `max_definition`.
struct ParquetColumn {
  std::string name;  // with the groups around it: `translation.en`; lists add no part
  ParquetType type = ParquetType::kBoolean;
  bool is_unsigned = false;
  bool is_decimal = false;
  uint32_t max_definition = 0;
  uint32_t max_repetition = 0;   // lists around it
  uint32_t item_definition = 0;  // lowest definition level at which its list has an item
};

/// The values of a column in a row group: pages from `offset` on.
struct ParquetChunk {
  int64_t codec = 0;
  int64_t values = 0;  // including nulls
  uint64_t offset = 0;
};

struct ParquetRowGroup {
  int64_t rows = 0;
  std::vector<ParquetChunk> chunks;  // one per column
};

struct ParquetMetadata {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetRowGroup> groups;
  int64_t rows = 0;
  std::size_t begin = 0;  // where the metadata begin; the pages end before
};

/// Reads the end of a Parquet file. Throws Error without its name.
ParquetMetadata read_parquet_metadata(std::string_view file);

struct ParquetPageHeader {
  enum Kind { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };
  int64_t kind = kIndex;
  int64_t size = 0;         // of the decompressed page
  int64_t stored_size = 0;  // of the page in the file
  int64_t checksum = -1;    // CRC-32 of the stored page; -1: none
  int64_t values = 0;
  int64_t encoding = 0;
  int64_t definition_encoding = 0;  // of version 1
  int64_t repetition_encoding = 0;
  int64_t definition_size = 0;  // of version 2
  int64_t repetition_size = 0;
  bool is_compressed = true;
  std::size_t header_size = 0;
};

/// Reads the header at the start of the bytes. Throws Error without the file's name.
ParquetPageHeader read_page_header(std::string_view bytes);

}  // namespace weft::formats
