#include <array>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/file_descriptor.h"

namespace weft {

uint64_t digest(const void* bytes, std::size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

uint64_t digest_file(const std::string& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const FileDescriptor file(path, O_RDONLY);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(kChunk);
  while (const std::size_t count = file.read(piece.data(), piece.size())) {
    XXH3_64bits_update(state.get(), piece.data(), count);
  }
  return XXH3_64bits_digest(state.get());
}

std::string to_hex(uint64_t value) {
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string result(16, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    result[15 - i] = kDigits[(value >> (4 * i)) & 0xFU];
  }
  return result;
}

}  // namespace weft
