#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace weft::formats {

/// Tensor entry of the header; the numbers are not validated yet.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // offset in the data after the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON of a header. Unexpected keys or types are rejected during parsing, before they
/// take memory. Throws Error.
SafetensorsHeader read_safetensors_header(std::string_view text, const std::string& path);

/// Bytes of a tensor of this shape and dtype.
uint64_t bytes_of(const TensorView& view);

/// Returns the header of tensors stored contiguously in this order. Throws std::invalid_argument
/// for a duplicate name or bytes that do not match shape and dtype.
std::string safetensors_header(const std::vector<const NamedTensor*>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace weft::formats
