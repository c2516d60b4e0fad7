#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace weft::fuzz {

namespace {

constexpr std::size_t kLargest = 16 << 10;
constexpr std::array<std::string_view, 14> kNasty = {"-1",
                                                     "0",
                                                     "18446744073709551616",
                                                     "9223372036854775807",
                                                     "1e999",
                                                     "NaN",
                                                     "null",
                                                     "[[[[[[[[",
                                                     "{\"a\":",
                                                     "\"",
                                                     "\xFF\xFE",
                                                     "\xED\xA0\x80",
                                                     "\n\n",
                                                     "\t"};

/// A stream of draws (splitmix64).
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::size_t below(std::size_t end) {
    state_ += 0x9E3779B97F4A7C15ULL;
    uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return end == 0 ? 0 : static_cast<std::size_t>((mixed ^ (mixed >> 31)) % end);
  }

 private:
  uint64_t state_;
};

void put_number(std::string& bytes, std::size_t at, std::size_t width, uint64_t value) {
  for (std::size_t byte = 0; byte < width && at + byte < bytes.size(); ++byte) {
    bytes[at + byte] = static_cast<char>(value >> (8 * byte));
  }
}

void replace_digits(std::string& bytes, std::size_t from, std::string_view nasty) {
  const auto first = bytes.find_first_of("0123456789", from);
  if (first != std::string::npos) {
    const auto end = std::min(bytes.find_first_not_of("0123456789", first), bytes.size());
    bytes.replace(first, end - first, nasty);
  }
}

void damage_once(std::string& bytes, const std::string& other, Draws& draws) {
  const auto at = draws.below(bytes.size());
  const auto length = 1 + draws.below(std::min<std::size_t>(64, bytes.size() - at + 1));
  switch (draws.below(10)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(draws.below(256));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(draws.below(bytes.size() + 1), bytes.substr(at, length));
      break;
    case 5: {
      const auto from = draws.below(other.size());
      bytes.replace(at, length, other.substr(from, draws.below(other.size() - from + 1)));
      break;
    }
    case 6:
      bytes.insert(at, kNasty[draws.below(kNasty.size())]);
      break;
    case 7:
      replace_digits(bytes, at, kNasty[draws.below(6)]);
      break;
    case 8: {
      constexpr std::array<uint64_t, 6> kNumbers = {
          0, 1, 0x7FFFFFFF, 0x80000000, 0x7FFFFFFFFFFFFFFF, ~uint64_t{0}};
      put_number(bytes, at, draws.below(2) == 0 ? 4 : 8, kNumbers[draws.below(kNumbers.size())]);
      break;
    }
    default: {
      const auto piece = bytes.substr(at, length);
      for (std::size_t left = draws.below(200); left > 0 && bytes.size() < kLargest; --left) {
        bytes.insert(at, piece);
      }
    }
  }
}

}  // namespace

std::vector<std::string> seeds_of(const std::string& target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/tests/fuzz/corpus/" + target)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) {
    throw std::runtime_error("no seeds for " + target);
  }
  return seeds;
}

std::string damaged(const std::vector<std::string>& seeds, uint64_t number) {
  Draws draws(number);
  auto bytes = seeds[draws.below(seeds.size())];
  const auto& other = seeds[draws.below(seeds.size())];
  for (auto left = 1 + draws.below(4); left > 0 && !bytes.empty(); --left) {
    damage_once(bytes, other, draws);
  }
  bytes.resize(std::min(bytes.size(), kLargest));
  return bytes;
}

}  // namespace weft::fuzz
