#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

/// The wire format of protocol buffers, as far as TensorBoard's files need it: a field starts with
/// (number << 3 | wire type). No library: its compiler and headers would be needed for a few
/// messages.
namespace weft::formats::protobuf {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

inline void put_key(std::string& out, uint32_t field, WireType wire) {
  put_varint(out, field << 3 | wire);
}

template <class Number>
void put_fixed(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

inline void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, kLengthDelimited);
  put_varint(out, bytes.size());
  out.append(bytes);
}

inline void put_integer(std::string& out, uint32_t field, uint64_t value) {
  put_key(out, field, kVarint);
  put_varint(out, value);
}

inline void put_double(std::string& out, uint32_t field, double value) {
  put_key(out, field, kFixed64);
  put_fixed(out, value);
}

/// Takes a number off the front; nullopt if the bytes end before it.
inline std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> take_fixed(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number)) {
    return std::nullopt;
  }
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

}  // namespace weft::formats::protobuf
