#include "base/utf8.h"

#include <cstring>

namespace weft::utf8 {

namespace {

/// Range of valid second bytes after a lead byte, and number of following bytes (Unicode 15, table
/// 3-7).
struct LeadByte {
  int following = 0;  // 0: not a lead byte of two or more bytes
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

LeadByte classify_lead_byte(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {.following = 1};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    const unsigned char low = byte == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = byte == 0xED ? 0x9F : 0xBF;
    return {.following = 2, .low = low, .high = high};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    const unsigned char low = byte == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = byte == 0xF4 ? 0x8F : 0xBF;
    return {.following = 3, .low = low, .high = high};
  }
  return {};
}

struct Step {
  char32_t code = kReplacement;
  bool is_valid = false;
};

Step step(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) {
    return {.code = first, .is_valid = true};
  }
  const LeadByte lead = classify_lead_byte(first);
  if (lead.following == 0) {
    return {};
  }
  char32_t code = first & (0x3FU >> lead.following);
  for (int i = 0; i < lead.following; ++i) {
    const unsigned char byte = at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    const unsigned char low = i == 0 ? lead.low : 0x80;
    const unsigned char high = i == 0 ? lead.high : 0xBF;
    if (byte < low || byte > high) {
      return {};
    }
    code = (code << 6) | (byte & 0x3FU);
    ++at;
  }
  return {.code = code, .is_valid = true};
}

}  // namespace

std::size_t skip_ascii(std::string_view text, std::size_t at) {
  for (uint64_t bytes = 0; at + sizeof(bytes) <= text.size(); at += sizeof(bytes)) {
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    if ((bytes & 0x8080808080808080U) != 0) {
      break;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) {
    ++at;
  }
  return at;
}

std::optional<std::size_t> first_invalid(std::string_view text) {
  for (std::size_t at = skip_ascii(text, 0); at < text.size(); at = skip_ascii(text, at)) {
    const std::size_t begin = at;
    if (!step(text, at).is_valid) {
      return begin;
    }
  }
  return std::nullopt;
}

char32_t next(std::string_view text, std::size_t& at) { return step(text, at).code; }

std::size_t begin_of_last(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
    --begin;
  }
  return begin;
}

void append(std::string& text, char32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    code = kReplacement;
  }
  const auto continuation = [&](int shift) {
    text += static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0U | (code >> 6));
    continuation(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0U | (code >> 12));
    continuation(6);
    continuation(0);
  } else {
    text += static_cast<char>(0xF0U | (code >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

std::u32string decode(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    codes += next(text, at);
  }
  return codes;
}

std::string encode(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t code : text) {
    append(bytes, code);
  }
  return bytes;
}

int64_t count(std::string_view text) {
  int64_t codes = 0;
  for (std::size_t at = 0; at < text.size(); ++codes) {
    next(text, at);
  }
  return codes;
}

std::string replace_invalid(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    append(result, next(text, at));
  }
  return result;
}

}  // namespace weft::utf8
