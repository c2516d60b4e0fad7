#include "data/tokenizers/sentencepiece/protobuf_reader.h"

namespace weft::data {

bool ProtobufReader::fail() {
  is_valid_ = false;
  return false;
}

std::optional<uint64_t> ProtobufReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

bool ProtobufReader::fixed(std::size_t size, uint64_t& value) {
  if (bytes_.size() < size) {
    return fail();
  }
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
  }
  bytes_.remove_prefix(size);
  return true;
}

bool ProtobufReader::next(ProtobufField& field) {
  if (bytes_.empty()) {
    return false;
  }
  const std::optional<uint64_t> tag = varint();
  if (!tag || (*tag >> 3) == 0 || (*tag >> 3) > 0x1FFFFFFF) {
    return fail();
  }
  field = {.number = static_cast<uint32_t>(*tag >> 3), .value = 0, .bytes = {}};
  switch (*tag & 7) {
    case 0: {
      const std::optional<uint64_t> value = varint();
      field.value = value.value_or(0);
      return value.has_value() || fail();
    }
    case 1:
      return fixed(8, field.value);
    case 2: {
      const std::optional<uint64_t> size = varint();
      if (!size || *size > bytes_.size()) {
        return fail();
      }
      field.bytes = bytes_.substr(0, *size);
      bytes_.remove_prefix(*size);
      return true;
    }
    case 5:
      return fixed(4, field.value);
    default:
      return fail();
  }
}

}  // namespace weft::data
