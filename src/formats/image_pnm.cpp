#include <charconv>

#include "base/text.h"
#include "formats/image_codecs.h"

namespace weft::formats {

namespace {

bool is_space(char sign) {
  return sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r' || sign == '\v' ||
         sign == '\f';
}

/// Numbers of a head, or of pixels written in digits.
class Numbers {
 public:
  Numbers(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  int64_t next(std::string_view what, int64_t most) {
    pass_blanks();
    int64_t value = -1;
    const auto* begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
    if (error != std::errc() || value < 0 || value > most) {
      throw Error(text(place_, ": damaged PNM: byte ", at_, ": ", what,
                       at_ >= bytes_.size() ? " is missing: the file is cut short"
                                            : text(" is not a number from 0 to ", most)));
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// What follows the one blank after the head.
  std::string_view rest() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

 private:
  void pass_blanks() {
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
  const std::string& place_;
  std::size_t at_ = 2;  // after the two signs that name the kind
};

struct Head {
  ImageSize size;
  int64_t channels = 1;
  int64_t most = 255;  // the value of white
  bool has_digits = false;
};

Head read_pnm_head(Numbers& numbers, std::string_view bytes, const std::string& place) {
  constexpr int64_t kMostSide = int64_t{1} << 31;
  Head head;
  head.channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1;
  head.has_digits = bytes[1] == '2' || bytes[1] == '3';
  head.size.width = numbers.next("the width", kMostSide);
  head.size.height = numbers.next("the height", kMostSide);
  head.most = numbers.next("the value of white", 65535);
  check_image_size(head.size, place);
  if (head.most == 0) {
    throw Error(place + ": damaged PNM: the value of white is 0");
  }
  return head;
}

uint8_t scaled(int64_t value, const Head& head, const std::string& place) {
  if (value > head.most) {
    throw Error(text(place, ": damaged PNM: a pixel of ", value, ", white is ", head.most));
  }
  return static_cast<uint8_t>((value * 255 + head.most / 2) / head.most);
}

}  // namespace

ImageSize pnm_size(std::string_view bytes, const std::string& place) {
  Numbers numbers(bytes, place);
  return read_pnm_head(numbers, bytes, place).size;
}

Image decode_pnm(std::string_view bytes, const std::string& place) {
  Numbers numbers(bytes, place);
  const auto head = read_pnm_head(numbers, bytes, place);
  const auto count = static_cast<std::size_t>(head.size.height * head.size.width * head.channels);
  const auto rest = numbers.rest();
  const std::size_t width = head.most > 255 ? 2 : 1;
  const std::size_t least = head.has_digits ? 2 * count - 1 : width * count;  // bytes
  if (rest.size() < least) {
    throw Error(text(place, ": damaged PNM: ", rest.size(), " bytes of pixels, there must be ",
                     least, ": the file is cut short"));
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
    image.pixels[i] = scaled(value, head, place);
  }
  return image;
}

}  // namespace weft::formats
