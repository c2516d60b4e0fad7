#include "formats/parquet/column_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include <zlib.h>

#include "formats/json.h"

namespace weft::formats {

namespace {

constexpr int64_t kRunEncoding = 3;
constexpr int64_t kMaxDictionary = 1 << 24;
constexpr std::size_t kMaxListBytes = std::size_t{64} << 20;
constexpr std::size_t kItemBytes = 32;  // memory of an empty text in a list

/// Shortest text that parses to the same number.
template <class Number>
std::string text_of_number(Number number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

std::string text_of_value(const ParquetValue& value, const ParquetColumn& column) {
  switch (column.type) {
    case ParquetType::kBoolean:
      return value.bits != 0 ? "true" : "false";
    case ParquetType::kInt32:
      return column.is_unsigned ? text_of_number(static_cast<uint32_t>(value.bits))
                                : text_of_number(static_cast<int32_t>(value.bits));
    case ParquetType::kInt64:
      return column.is_unsigned ? text_of_number(value.bits)
                                : text_of_number(static_cast<int64_t>(value.bits));
    case ParquetType::kFloat:
      return text_of_number(std::bit_cast<float>(static_cast<uint32_t>(value.bits)));
    case ParquetType::kDouble:
      return text_of_number(std::bit_cast<double>(value.bits));
    case ParquetType::kByteArray:
      return std::string(value.text);
    case ParquetType::kInt96:
    case ParquetType::kFixedLengthByteArray:
      break;
  }
  return {};
}

/// Why a column cannot be read; empty: it can.
std::string_view obstacle_of(const ParquetColumn& column) {
  if (column.is_decimal) {
    return "decimal numbers";
  }
  if (column.type == ParquetType::kInt96) {
    return "values of type INT96";
  }
  if (column.type == ParquetType::kFixedLengthByteArray) {
    return "values of type FIXED_LEN_BYTE_ARRAY";
  }
  return column.max_repetition > 1 ? "lists of lists" : "";
}

/// Levels of a page of version 1, with their size in front.
ParquetRunReader take_levels(ParquetBytes& bytes, uint32_t max_level, int64_t encoding) {
  if (max_level == 0) {
    return {};
  }
  if (encoding != kRunEncoding) {
    throw Error(str_cat("Parquet data with levels in encoding ", encoding, ", allowed is RLE"));
  }
  return {bytes.take(bytes.number(4)), static_cast<uint64_t>(std::bit_width(max_level))};
}

}  // namespace

ParquetColumnReader::ParquetColumnReader(std::string_view pages, ParquetColumn column)
    : pages_(pages), column_(std::move(column)) {
  if (const auto obstacle = obstacle_of(column_); !obstacle.empty()) {
    throw Error(str_cat(obstacle, ", allowed are strings, numbers, booleans, and lists of them"));
  }
}

void ParquetColumnReader::begin(const ParquetChunk& chunk) {
  chunk_ = chunk;
  source_ = {.bytes = {}, .type = column_.type, .dictionary = &dictionary_};
  dictionary_.clear();
  page_values_ = 0;
  is_ahead_ = false;
}

std::optional<std::string> ParquetColumnReader::next() {
  if (!std::exchange(is_ahead_, false)) {
    advance();
  }
  if (column_.max_repetition > 0) {
    return read_list();
  }
  return definition_ == column_.max_definition ? std::optional(read_value()) : std::nullopt;
}

std::optional<std::string> ParquetColumnReader::read_list() {
  if (!allows_lists_) {
    throw Error("a list, expected a string or a number");
  }
  if (repetition_ != 0) {
    fail_damaged("a row that begins inside a list");
  }
  if (definition_ + 1 < column_.item_definition) {
    return std::nullopt;
  }
  Json list = Json::array();
  std::size_t size = 0;
  while (!is_ahead_ && definition_ >= column_.item_definition) {
    if (definition_ < column_.max_definition) {
      throw Error("a list with null, expected strings or numbers");
    }
    auto value = read_value();
    size += kItemBytes + value.size();
    if (size > kMaxListBytes) {
      throw Error("a list of more than 64 MiB");
    }
    list.push_back(std::move(value));
    if (chunk_.values == 0) {
      break;
    }
    advance();
    is_ahead_ = repetition_ == 0;
  }
  // JSON cannot express invalid UTF-8.
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ParquetColumnReader::read_value() {
  if (!values_) {
    values_ = make_value_reader(encoding_, source_);
  }
  return text_of_value(values_->next(), column_);
}

void ParquetColumnReader::advance() {
  if (chunk_.values == 0) {
    fail_damaged("fewer values than rows");
  }
  while (page_values_ == 0) {
    read_page();
  }
  --page_values_;
  --chunk_.values;
  repetition_ = column_.max_repetition > 0 ? repetitions_.next() : 0;
  definition_ = column_.max_definition > 0 ? definitions_.next() : 0;
  if (repetition_ > column_.max_repetition || definition_ > column_.max_definition) {
    fail_damaged("a level that is too high");
  }
}

void ParquetColumnReader::read_page() {
  ParquetBytes bytes(pages_.substr(std::min<uint64_t>(chunk_.offset, pages_.size())));
  const auto header = read_page_header(bytes.rest());
  bytes.take(header.header_size);
  const auto stored = bytes.take(static_cast<uint64_t>(header.stored_size));
  chunk_.offset = pages_.size() - bytes.rest().size();
  if (header.checksum >= 0 && crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()),
                                      stored.size()) != static_cast<uint64_t>(header.checksum)) {
    fail_damaged("a page with a wrong checksum");
  }
  if (header.kind == ParquetPageHeader::kDictionary) {
    read_dictionary(header, stored);
  } else if (header.kind == ParquetPageHeader::kData) {
    read_data_1(header, stored);
  } else if (header.kind == ParquetPageHeader::kDataV2) {
    read_data_2(header, stored);
  }  // else it is an index
}

void ParquetColumnReader::read_dictionary(const ParquetPageHeader& header,
                                          std::string_view stored) {
  constexpr int64_t kPlain = 0;
  if (header.values > kMaxDictionary) {
    fail_damaged("a dictionary of an impossible size");
  }
  dictionary_.clear();
  source_.bytes = decompress_page(chunk_.codec, stored, static_cast<std::size_t>(header.size),
                                  dictionary_buffer_);
  const auto values = make_value_reader(kPlain, source_);
  for (int64_t value = 0; value < header.values; ++value) {
    dictionary_.push_back(values->next());
  }
}

void ParquetColumnReader::read_data_1(const ParquetPageHeader& header, std::string_view stored) {
  ParquetBytes bytes(
      decompress_page(chunk_.codec, stored, static_cast<std::size_t>(header.size), buffer_));
  repetitions_ = take_levels(bytes, column_.max_repetition, header.repetition_encoding);
  definitions_ = take_levels(bytes, column_.max_definition, header.definition_encoding);
  begin_values(header, bytes.rest());
}

void ParquetColumnReader::read_data_2(const ParquetPageHeader& header, std::string_view stored) {
  ParquetBytes bytes(stored);
  const auto levels_size = header.repetition_size + header.definition_size;
  const auto take_level = [&](int64_t size, uint32_t max_level) {
    return ParquetRunReader(bytes.take(static_cast<uint64_t>(size)),
                            static_cast<uint64_t>(std::bit_width(max_level)));
  };
  repetitions_ = take_level(header.repetition_size, column_.max_repetition);
  definitions_ = take_level(header.definition_size, column_.max_definition);
  if (levels_size > header.size) {
    fail_damaged("levels that are larger than their page");
  }
  const auto size = static_cast<std::size_t>(header.size - levels_size);
  begin_values(header, header.is_compressed
                           ? decompress_page(chunk_.codec, bytes.rest(), size, buffer_)
                           : bytes.rest());
}

void ParquetColumnReader::begin_values(const ParquetPageHeader& header, std::string_view bytes) {
  source_.bytes = bytes;
  encoding_ = header.encoding;
  values_.reset();
  page_values_ = header.values;
}

}  // namespace weft::formats
