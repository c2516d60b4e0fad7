#include <vector>

#include "base/string_util.h"
#include "formats/byte_source.h"
#include "formats/image_array.h"

namespace weft::formats {

namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPlane = kSide * kSide;

/// Reads the next complete record; false at the end of the file.
bool read_record(ByteSource& source,
                 std::vector<char>& record,
                 int64_t row,
                 const std::string& path) {
  std::size_t done = 0;
  while (done < record.size()) {
    const std::size_t more = source.read(record.data() + done, record.size() - done);
    if (more == 0) {
      break;
    }
    done += more;
  }
  if (done != 0 && done != record.size()) {
    throw Error(str_cat(path, ": record ", row, " is truncated: ", done, " bytes, must be ",
                        record.size()));
  }
  return done != 0;
}

/// Converts colour planes to interleaved pixels.
void add_pixels(const char* planes, std::vector<uint8_t>& pixels) {
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      pixels.push_back(static_cast<uint8_t>(planes[c * kPlane + i]));
    }
  }
}

}  // namespace

ImageArray read_cifar(const std::string& path, CifarKind kind) {
  const int64_t labels = kind == CifarKind::kCifar100 ? 2 : 1;
  const int64_t classes = kind == CifarKind::kCifar100 ? 100 : 10;
  const auto source = open_bytes(path);
  std::vector<char> record(static_cast<std::size_t>(labels + 3 * kPlane));
  ImageArray rows{.height = kSide, .width = kSide, .channels = 3, .pixels = {}, .labels = {}};
  while (read_record(*source, record, rows.size() + 1, path)) {
    const int64_t label = static_cast<uint8_t>(record[static_cast<std::size_t>(labels - 1)]);
    if (label >= classes) {
      throw Error(str_cat(path, ": record ", rows.size() + 1, ": label ", label, ", must be 0 to ",
                          classes - 1));
    }
    if (static_cast<int64_t>(rows.pixels.size()) > kMaxPixelBytes) {
      throw Error(str_cat(path, ": too many images, allowed are at most ",
                          format_bytes(static_cast<double>(kMaxPixelBytes))));
    }
    rows.labels.push_back(label);
    add_pixels(record.data() + labels, rows.pixels);
  }
  if (rows.labels.empty()) {
    throw Error(path + ": no records, must have at least one");
  }
  return rows;
}

}  // namespace weft::formats
