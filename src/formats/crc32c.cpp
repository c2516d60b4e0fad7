#include <array>
#include <cstddef>
#include <cstring>

#include "formats/tensorboard_events.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weft::formats {

namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Castagnoli, bits reversed

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = rest;
  }
  return table;
}

constexpr auto kTable = make_table();

uint32_t update_plain(uint32_t crc, std::string_view bytes) {
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t update_sse42(uint32_t crc, std::string_view bytes) {
  uint64_t wide = crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = _mm_crc32_u64(wide, word);
    bytes.remove_prefix(sizeof(word));
  }
  crc = static_cast<uint32_t>(wide);
  for (const char byte : bytes) {
    crc = _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
  }
  return crc;
}
#endif

}  // namespace

namespace detail {

uint32_t crc32c_plain(std::string_view bytes) { return ~update_plain(~0U, bytes); }

}  // namespace detail

uint32_t crc32c(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) {
    return ~update_sse42(~0U, bytes);
  }
#endif
  return detail::crc32c_plain(bytes);
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace weft::formats
