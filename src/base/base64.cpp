#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace weft {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    std::size_t characters = 0;
    for (; characters < 4 && text[at + characters] != '='; ++characters) {
      const std::size_t digit = kAlphabet.find(text[at + characters]);
      if (digit == std::string_view::npos) {
        return std::nullopt;
      }
      group |= static_cast<uint32_t>(digit) << (18 - 6 * characters);
    }
    const bool is_padded = characters < 4;
    const bool is_valid =
        characters >= 2 && (!is_padded || (at + 4 == text.size() && text[at + 3] == '='));
    if (!is_valid) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i + 1 < characters; ++i) {
      bytes.push_back(static_cast<char>((group >> (16 - 8 * i)) & 0xFFU));
    }
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (std::size_t i = 0; i < count; ++i) {
      group |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (16 - 8 * i);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kAlphabet[(group >> (18 - 6 * i)) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace weft
