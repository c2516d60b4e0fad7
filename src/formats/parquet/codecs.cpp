#include "formats/parquet/codecs.h"

#include <algorithm>
#include <array>

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "formats/parquet/byte_reader.h"

namespace weft::formats {

namespace {

/// Each returns whether the result has exactly `size` bytes.
using Decompress = bool(std::string_view stored, char* bytes, std::size_t size);

bool decompress_snappy(std::string_view stored, char* bytes, std::size_t size) {
  std::size_t found = 0;
  return snappy::GetUncompressedLength(stored.data(), stored.size(), &found) && found == size &&
         snappy::RawUncompress(stored.data(), stored.size(), bytes);
}

bool decompress_gzip(std::string_view stored, char* bytes, std::size_t size) {
  constexpr int kGzipOrZlib = 15 + 32;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOrZlib) != Z_OK) {
    return false;
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes);
  stream.avail_out = static_cast<uInt>(size);
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return status == Z_STREAM_END && stream.avail_out == 0;
}

bool decompress_zstd(std::string_view stored, char* bytes, std::size_t size) {
  return ZSTD_decompress(bytes, size, stored.data(), stored.size()) == size;
}

struct PageCodec {
  int64_t number = 0;
  std::string_view name;
  Decompress* decompress = nullptr;  // null: cannot be read
};

constexpr int64_t kUncompressed = 0;
constexpr std::array kPageCodecs = {
    PageCodec{1, "snappy", decompress_snappy},
    PageCodec{2, "gzip", decompress_gzip},
    PageCodec{3, "lzo"},
    PageCodec{4, "brotli"},
    PageCodec{5, "lz4"},
    PageCodec{6, "zstd", decompress_zstd},
    PageCodec{7, "lz4"},
};

}  // namespace

char* ParquetBuffer::reserve(std::size_t size) {
  if (capacity_ < size) {
    bytes_ = std::make_unique_for_overwrite<char[]>(size);
    capacity_ = size;
  }
  return bytes_.get();
}

std::string_view decompress_page(int64_t codec,
                                 std::string_view stored,
                                 std::size_t size,
                                 ParquetBuffer& buffer) {
  constexpr std::size_t kMaxRatio = 1 << 16;  // none of the codecs compresses more
  if (size == 0) {
    return {};
  }
  if (codec == kUncompressed) {
    return ParquetBytes(stored).take(size);
  }
  const auto known = std::find_if(kPageCodecs.begin(), kPageCodecs.end(),
                                  [&](const PageCodec& one) { return one.number == codec; });
  if (known == kPageCodecs.end() || known->decompress == nullptr) {
    throw Error(str_cat(
        "Parquet data compressed with ",
        known == kPageCodecs.end() ? str_cat("codec ", codec) : std::string(known->name),
        ", allowed is no compression, snappy, gzip or zstd: write it with compression='zstd'"));
  }
  if (size / kMaxRatio > stored.size()) {
    fail_damaged("a page of an impossible size");
  }
  char* const bytes = buffer.reserve(size);
  if (!known->decompress(stored, bytes, size)) {
    fail_damaged(str_cat("its ", known->name, " data cannot be decompressed"));
  }
  return {bytes, size};
}

}  // namespace weft::formats
