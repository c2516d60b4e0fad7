#include "formats/image.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/file.h"
#include "base/text.h"
#include "formats/image_codecs.h"

namespace weft::formats {

namespace {

/// One line a kind of file.
struct Codec {
  std::string_view begin;
  Image (*decode)(std::string_view, const std::string&);
  ImageSize (*size)(std::string_view, const std::string&);
};

constexpr std::array kCodecs = {
    Codec{"\x89PNG\r\n\x1a\n", decode_png, png_size},
    Codec{"\xff\xd8\xff", decode_jpeg, jpeg_size},
    Codec{"P2", decode_pnm, pnm_size},
    Codec{"P3", decode_pnm, pnm_size},
    Codec{"P5", decode_pnm, pnm_size},
    Codec{"P6", decode_pnm, pnm_size},
};

const Codec& codec_of(std::string_view bytes, const std::string& place) {
  const auto* found = std::find_if(kCodecs.begin(), kCodecs.end(), [&](const auto& codec) {
    return bytes.starts_with(codec.begin);
  });
  if (found == kCodecs.end()) {
    throw Error(place + (bytes.empty() ? ": an empty file" : ": not an image") +
                ", must be PNG, JPEG, PPM or PGM");
  }
  return *found;
}

}  // namespace

void check_image_size(const ImageSize& size, const std::string& place) {
  if (size.height < 1 || size.width < 1) {
    throw Error(place + ": an image without pixels");
  }
  if (size.height > kLongestImageSide || size.width > kLongestImageSide ||
      size.height * size.width > kMostImagePixels) {
    throw Error(text(place, ": an image of ", size.width, " x ", size.height,
                     " pixels, allowed are ", with_commas(kMostImagePixels), " in all and ",
                     with_commas(kLongestImageSide), " a side"));
  }
}

Image decode_image(std::string_view bytes, const std::string& place) {
  return codec_of(bytes, place).decode(bytes, place);
}

ImageSize image_size(std::string_view bytes, const std::string& place) {
  return codec_of(bytes, place).size(bytes, place);
}

Image read_image(const std::string& path) { return decode_image(MappedFile(path).text(), path); }

ImageSize read_image_size(const std::string& path) {
  return image_size(MappedFile(path).text(), path);
}

bool is_image_name(std::string_view path) {
  constexpr std::array<std::string_view, 6> kEndings = {".png", ".jpg", ".jpeg",
                                                        ".ppm", ".pgm", ".pnm"};
  std::string low(path.substr(path.size() - std::min<std::size_t>(path.size(), 5)));
  std::transform(low.begin(), low.end(), low.begin(),
                 [](unsigned char sign) { return static_cast<char>(std::tolower(sign)); });
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](auto ending) { return low.ends_with(ending); });
}

}  // namespace weft::formats
