#include <algorithm>
#include <array>

#include "base/string_util.h"
#include "formats/byte_source.h"
#include "formats/image_array.h"

namespace weft::formats {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr unsigned char kBytes = 8;  // type code of unsigned bytes

/// Reads up to `count` bytes; fewer only at the end of the file.
std::size_t read_up_to(ByteSource& source, char* bytes, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t more = source.read(bytes + done, count - done);
    if (more == 0) {
      break;
    }
    done += more;
  }
  return done;
}

int64_t read_number(ByteSource& source, const std::string& path) {
  std::array<char, 4> bytes{};
  if (read_up_to(source, bytes.data(), bytes.size()) < bytes.size()) {
    throw Error(path + ": the header of the IDX file is truncated");
  }
  int64_t value = 0;
  for (const char byte : bytes) {
    value = value * 256 + static_cast<unsigned char>(byte);
  }
  return value;
}

/// Reads the dimensions of an IDX file. Throws Error for an invalid header.
std::vector<int64_t> read_idx_head(ByteSource& source, const std::string& path) {
  const int64_t magic = read_number(source, path);
  const int64_t type = magic >> 8;
  const int64_t dimensions = magic & 0xff;
  if (type != kBytes || dimensions < 1 || dimensions > 4) {
    throw Error(str_cat(path, ": not an IDX file of bytes: its magic number is ", magic,
                        ", must be 2049 (labels), 2051 (images) or 2052 (colour images)"));
  }
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < dimensions; ++i) {
    sizes.push_back(read_number(source, path));
  }
  return sizes;
}

/// Memory grows with the actual file content, not with the size claimed by its header.
std::vector<uint8_t> read_rest(ByteSource& source, int64_t count, const std::string& path) {
  std::vector<uint8_t> bytes;
  for (std::size_t wanted = static_cast<std::size_t>(count); bytes.size() < wanted;) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + std::min(kChunk, wanted - begin));
    const std::size_t got =
        read_up_to(source, reinterpret_cast<char*>(bytes.data() + begin), bytes.size() - begin);
    if (begin + got < bytes.size()) {
      throw Error(str_cat(path, ": the IDX file is truncated: ", begin + got,
                          " bytes after its header, ", "must be ", count));
    }
  }
  char more = 0;
  if (source.read(&more, 1) != 0) {
    throw Error(str_cat(path, ": the IDX file has extra data after the ", count,
                        " bytes given by its header"));
  }
  return bytes;
}

}  // namespace

ImageArray read_idx_images(const std::string& path) {
  const auto source = open_bytes(path);
  const auto sizes = read_idx_head(*source, path);
  if (sizes.size() < 3) {
    throw Error(
        str_cat(path, ": an IDX file of ", sizes.size(), " dimensions, must be 3 or 4 for images"));
  }
  ImageArray rows{.height = sizes[1],
                  .width = sizes[2],
                  .channels = sizes.size() == 4 ? sizes[3] : 1,
                  .pixels = {},
                  .labels = {}};
  check_image_size({rows.height, rows.width}, path);
  if (rows.channels != 1 && rows.channels != 3) {
    throw Error(str_cat(path, ": images of ", rows.channels, " channels, allowed are 1 and 3"));
  }
  const int64_t bytes = rows.height * rows.width * rows.channels;
  if (sizes[0] > kMaxPixelBytes / bytes) {
    throw Error(str_cat(path, ": ", with_commas(sizes[0]), " images of ", bytes,
                        " bytes do not fit into memory, allowed are at most ",
                        format_bytes(static_cast<double>(kMaxPixelBytes))));
  }
  rows.pixels = read_rest(*source, sizes[0] * bytes, path);
  return rows;
}

std::vector<int64_t> read_idx_labels(const std::string& path) {
  const auto source = open_bytes(path);
  const auto sizes = read_idx_head(*source, path);
  if (sizes.size() != 1) {
    throw Error(
        str_cat(path, ": an IDX file of ", sizes.size(), " dimensions, must be 1 for labels"));
  }
  const auto bytes = read_rest(*source, sizes[0], path);
  return {bytes.begin(), bytes.end()};
}

bool is_idx(const std::string& path) {
  const auto source = open_bytes(path);
  std::array<char, 4> bytes{};
  return read_up_to(*source, bytes.data(), bytes.size()) == bytes.size() && bytes[0] == 0 &&
         bytes[1] == 0 && bytes[2] == kBytes && bytes[3] >= 1 && bytes[3] <= 4;
}

}  // namespace weft::formats
