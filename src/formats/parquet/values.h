#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/parquet/byte_reader.h"
#include "formats/parquet/metadata.h"

namespace weft::formats {

/// A value as stored: the bits of a number or boolean, or the bytes of a text.
struct ParquetValue {
  uint64_t bits = 0;
  std::string_view text;
};

/// Decodes the values of a page one by one, so that a damaged count costs no memory.
class ParquetValueReader {
 public:
  virtual ~ParquetValueReader() = default;
  /// The text is valid until the next call. Throws Error at the end of the page.
  virtual ParquetValue next() = 0;
};

struct ParquetValueSource {
  std::string_view bytes;
  ParquetType type = ParquetType::kBoolean;
  const std::vector<ParquetValue>* dictionary = nullptr;  // empty: the pages have none
};

/// `encoding`: as numbered in the format. Throws Error if it does not exist for the type.
std::unique_ptr<ParquetValueReader> make_value_reader(int64_t encoding,
                                                      const ParquetValueSource& source);

/// Decodes levels and indices: runs of one value, and groups of eight bit-packed values.
class ParquetRunReader {
 public:
  ParquetRunReader() = default;
  /// `width`: bits of a value, at most 32.
  ParquetRunReader(std::string_view bytes, uint64_t width) : bytes_(bytes), width_(width) {}
  uint64_t next();

 private:
  ParquetBytes bytes_;
  uint64_t width_ = 0;
  uint64_t left_ = 0;  // values left in the run
  bool is_packed_ = false;
  uint64_t value_ = 0;  // of a run of one value
  std::string_view packed_;
  uint64_t offset_ = 0;  // in bits, of the next packed value
};

}  // namespace weft::formats
