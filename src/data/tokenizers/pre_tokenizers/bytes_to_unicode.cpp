#include "data/tokenizers/pre_tokenizers/bytes_to_unicode.h"

#include "base/utf8.h"

namespace weft::data {

const std::array<std::string, 256>& bytes_to_unicode() {
  static const std::array<std::string, 256> characters = [] {
    std::array<std::string, 256> result;
    char32_t other = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool prints =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      utf8::append(result[byte], prints ? byte : other++);
    }
    return result;
  }();
  return characters;
}

}  // namespace weft::data
