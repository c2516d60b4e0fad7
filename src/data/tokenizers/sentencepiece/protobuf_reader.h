#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::data {

/// One field of a protobuf message.
struct ProtobufField {
  uint32_t number = 0;
  uint64_t value = 0;      // whole numbers; the bits of a float
  std::string_view bytes;  // texts and messages
};

/// Walks the fields of one protobuf message; bounds are checked, groups are refused.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes) : bytes_(bytes) {}

  /// False at the end, or where the bytes are no message (then `is_sound` is false).
  bool next(ProtobufField& field);
  bool is_sound() const { return is_sound_; }

 private:
  std::optional<uint64_t> varint();
  bool fixed(std::size_t size, uint64_t& value);
  bool fail();

  std::string_view bytes_;
  bool is_sound_ = true;
};

}  // namespace weft::data
