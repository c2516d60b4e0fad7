#include <charconv>

#include "base/string_util.h"
#include "formats/image.h"

namespace weft::formats {

namespace {

bool is_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r' ||
         character == '\v' || character == '\f';
}

/// Reads the numbers of a header, or of plain-text pixels.
class Numbers {
 public:
  Numbers(std::string_view bytes, const std::string& location)
      : bytes_(bytes), location_(location) {}

  int64_t next(std::string_view what, int64_t most) {
    skip_whitespace();
    int64_t value = -1;
    const auto* begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
    if (error != std::errc() || value < 0 || value > most) {
      throw Error(str_cat(location_, ": damaged PNM: byte ", at_, ": ", what,
                          at_ >= bytes_.size() ? " is missing: the file is truncated"
                                               : str_cat(" is not a number from 0 to ", most)));
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// Bytes after the single white space that ends the header.
  std::string_view rest() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

 private:
  void skip_whitespace() {
    while (at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') {
          ++at_;
        }
      } else {
        ++at_;
      }
    }
  }

  std::string_view bytes_;
  const std::string& location_;
  std::size_t at_ = 2;  // after the two-byte magic number
};

struct Head {
  ImageSize size;
  int64_t channels = 1;
  int64_t most = 255;  // the value of white
  bool has_digits = false;
};

Head read_pnm_head(Numbers& numbers, std::string_view bytes, const std::string& location) {
  constexpr int64_t kMaxSide = int64_t{1} << 31;
  Head head;
  head.channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1;
  head.has_digits = bytes[1] == '2' || bytes[1] == '3';
  head.size.width = numbers.next("the width", kMaxSide);
  head.size.height = numbers.next("the height", kMaxSide);
  head.most = numbers.next("the maximum value", 65535);
  check_image_size(head.size, location);
  if (head.most == 0) {
    throw Error(location + ": damaged PNM: the maximum value is 0");
  }
  return head;
}

uint8_t scaled(int64_t value, const Head& head, const std::string& location) {
  if (value > head.most) {
    throw Error(str_cat(location, ": damaged PNM: a pixel of ", value,
                        ", but the maximum value is ", head.most));
  }
  return static_cast<uint8_t>((value * 255 + head.most / 2) / head.most);
}

}  // namespace

ImageSize pnm_size(std::string_view bytes, const std::string& location) {
  Numbers numbers(bytes, location);
  return read_pnm_head(numbers, bytes, location).size;
}

Image decode_pnm(std::string_view bytes, const std::string& location) {
  Numbers numbers(bytes, location);
  const auto head = read_pnm_head(numbers, bytes, location);
  const auto count = static_cast<std::size_t>(head.size.height * head.size.width * head.channels);
  const auto rest = numbers.rest();
  const std::size_t width = head.most > 255 ? 2 : 1;
  const std::size_t least = head.has_digits ? 2 * count - 1 : width * count;  // bytes
  if (rest.size() < least) {
    throw Error(str_cat(location, ": damaged PNM: ", rest.size(), " bytes of pixels, must be ",
                        least, ": the file is truncated"));
  }
  Image image{.height = head.size.height,
              .width = head.size.width,
              .channels = head.channels,
              .pixels = std::vector<uint8_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    int64_t value = 0;
    if (head.has_digits) {
      value = numbers.next("a pixel", 65535);
    } else {
      for (std::size_t b = 0; b < width; ++b) {
        value = value * 256 + static_cast<uint8_t>(rest[i * width + b]);
      }
    }
    image.pixels[i] = scaled(value, head, location);
  }
  return image;
}

}  // namespace weft::formats
