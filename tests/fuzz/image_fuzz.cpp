// PNG, JPEG, WebP, PPM and PGM, distinguished by their first bytes.
#include <stdexcept>

#include "formats/image.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void image(std::string_view input) {
  try_reading([&] {
    const auto size = formats::image_size(input, "fuzzed");
    if (size.height * size.width > 1 << 20) {
      return;  // sound, but slow
    }
    const auto image = formats::decode_image(input, "fuzzed");
    const auto pixels = image.height * image.width * image.channels;
    if (static_cast<int64_t>(image.pixels.size()) != pixels) {
      throw std::logic_error("pixels that do not fit the image's size");
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(image)
