#include "data/tokenizers/pre_tokenizers/byte_signs.h"

#include "base/utf8.h"

namespace weft::data {

const std::array<std::string, 256>& byte_signs() {
  static const std::array<std::string, 256> signs = [] {
    std::array<std::string, 256> made;
    char32_t other = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool prints =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      utf8::append(made[byte], prints ? byte : other++);
    }
    return made;
  }();
  return signs;
}

}  // namespace weft::data
