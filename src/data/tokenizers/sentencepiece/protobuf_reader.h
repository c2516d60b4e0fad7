#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::data {

/// One field of a protobuf message.
struct ProtobufField {
  uint32_t number = 0;
  uint64_t value = 0;      // integers; the bits of a float
  std::string_view bytes;  // strings and messages
};

/// Iterates over the fields of one protobuf message; checks bounds, rejects groups.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes) : bytes_(bytes) {}

  /// False at the end, or if the bytes are malformed (then `is_valid` is false).
  bool next(ProtobufField& field);
  bool is_valid() const { return is_valid_; }

 private:
  std::optional<uint64_t> varint();
  bool fixed(std::size_t size, uint64_t& value);
  bool fail();

  std::string_view bytes_;
  bool is_valid_ = true;
};

}  // namespace weft::data
