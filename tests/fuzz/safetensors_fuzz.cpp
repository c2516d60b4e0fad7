// The input is the JSON of a header and, after a line `-----`, the bytes of the tensors; and, as it
// stands, a whole file.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "formats/safetensors.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

namespace {

void read_file(std::string_view bytes) {
  const auto path = scratch_file("input.safetensors", bytes);
  try_reading([&] {
    const formats::SafetensorsFile file(path);
    std::size_t sum = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      sum += tensor.bytes.size();
      if (static_cast<int64_t>(tensor.bytes.size()) !=
          tensor.count() * formats::byte_width(tensor.dtype)) {
        throw std::logic_error(name + ": bytes that do not fit its shape");
      }
      unsigned last = 0;
      for (const std::byte byte : tensor.bytes) {
        last ^= static_cast<unsigned>(byte);
      }
      if (last > 255) {
        throw std::logic_error("no byte");
      }
    }
    if (sum > bytes.size()) {
      throw std::logic_error("tensors larger than their file");
    }
  });
}

}  // namespace

void safetensors(std::string_view input) {
  read_file(input);
  const auto header = part_of(input, 0);
  std::string file;
  for (int byte = 0; byte < 8; ++byte) {
    file += static_cast<char>(header.size() >> (8 * byte));
  }
  read_file(file + header + part_of(input, 1));
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(safetensors)
