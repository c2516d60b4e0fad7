#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parquet/codecs.h"
#include "formats/parquet/metadata.h"
#include "formats/parquet/values.h"

namespace weft::formats {

/// Reads a column row by row; it holds one page in memory. Throws Error without the file's name.
class ParquetColumnReader {
 public:
  /// `pages`: the file without its metadata. Rejects columns that are not text, numbers or
  /// booleans.
  ParquetColumnReader(std::string_view pages, ParquetColumn column);

  const std::string& name() const { return column_.name; }
  /// Allows lists; `next` returns them as a JSON list of strings.
  void allow_lists() { allows_lists_ = true; }
  /// Begins a row group.
  void begin(const ParquetChunk& chunk);
  /// Reads the field of the next row as text; nullopt for null.
  std::optional<std::string> next();

 private:
  void advance();
  void read_page();
  void read_dictionary(const ParquetPageHeader& header, std::string_view stored);
  void read_data_1(const ParquetPageHeader& header, std::string_view stored);
  void read_data_2(const ParquetPageHeader& header, std::string_view stored);
  void begin_values(const ParquetPageHeader& header, std::string_view bytes);
  std::optional<std::string> read_list();
  std::string read_value();

  std::string_view pages_;
  ParquetColumn column_;
  bool allows_lists_ = false;
  ParquetChunk chunk_;  // offset and values are those that are left

  int64_t page_values_ = 0;  // left in the page
  ParquetRunReader repetitions_;
  ParquetRunReader definitions_;
  ParquetValueSource source_;
  int64_t encoding_ = 0;
  std::unique_ptr<ParquetValueReader> values_;  // made for the first value that is not null
  ParquetBuffer buffer_;

  std::vector<ParquetValue> dictionary_;
  ParquetBuffer dictionary_buffer_;

  // The entry that was read last, a value or a null; of lists, one more than is used.
  uint64_t repetition_ = 0;
  uint64_t definition_ = 0;
  bool is_ahead_ = false;  // it belongs to the next row
};

}  // namespace weft::formats
