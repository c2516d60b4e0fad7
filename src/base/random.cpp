#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace weft {

namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;

std::array<uint32_t, 2> halves(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

/// The finaliser maps 0 to 0, so hash_combine adds constants (golden ratio, sqrt 3) that differ for
/// a and b.
uint64_t finalize_splitmix64(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

uint64_t hash_combine(uint64_t a, uint64_t b) {
  return finalize_splitmix64(finalize_splitmix64(a + 0x9E3779B97F4A7C15ULL) + b +
                             0xBB67AE8584CAA73BULL);
}

// The counter is (block, low half of time, item), so streams of one (seed, purpose) never overlap
// before 2^34 draws. The high half of time goes into the key.
Random::Random(uint64_t seed, RandomPurpose purpose, uint64_t time, uint64_t item)
    : key_(halves(hash_combine(hash_combine(seed, static_cast<uint64_t>(purpose)), time >> 32))),
      counter_{0, static_cast<uint32_t>(time), static_cast<uint32_t>(item),
               static_cast<uint32_t>(item >> 32)} {}

uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

uint64_t Random::bits64() {
  const uint64_t low = bits();
  return low | (uint64_t{bits()} << 32);
}

float Random::uniform() { return static_cast<float>(bits() >> 8) * 0x1p-24F; }

double Random::uniform_double() { return static_cast<double>(bits64() >> 11) * 0x1p-53; }

uint64_t Random::uniform_int(uint64_t bound) {
  if (bound <= (uint64_t{1} << 32)) {
    // Lemire, "Fast random integer generation in an interval" (arXiv:1805.10941).
    const uint64_t rejection_limit = (uint64_t{1} << 32) % bound;
    uint64_t product = 0;
    do {
      product = bits() * bound;
    } while (static_cast<uint32_t>(product) < rejection_limit);
    return product >> 32;
  }
  const uint64_t rejection_limit = (0 - bound) % bound;
  uint64_t draw = 0;
  do {
    draw = bits64();
  } while (draw < rejection_limit);
  return draw % bound;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_double()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform_double());
}

Permutation::Permutation(int64_t size, uint64_t seed, RandomPurpose purpose, uint64_t time)
    : size_(size),
      key_(halves(hash_combine(hash_combine(seed, static_cast<uint64_t>(purpose)), ~(time >> 32)))),
      time_(static_cast<uint32_t>(time)) {
  const int bits = size > 1 ? std::bit_width(static_cast<uint64_t>(size - 1)) : 0;
  low_bits_ = static_cast<uint32_t>(bits / 2);
  high_bits_ = static_cast<uint32_t>(bits) - low_bits_;
}

// The network permutes 0 .. 2^bits - 1, less than twice `size`; cycle walking restricts it to a
// permutation of 0 .. size-1 (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
int64_t Permutation::operator()(int64_t index) const {
  // Rounds on few bits mix poorly, so use more.
  const uint32_t rounds = low_bits_ < 6 ? 24 : 8;
  const uint64_t low_mask = (uint64_t{1} << low_bits_) - 1;
  const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t low = value & low_mask;
    uint64_t high = value >> low_bits_;
    for (uint32_t round = 0; round < rounds; ++round) {
      const bool changes_high = round % 2 == 0;
      const auto draw =
          philox({static_cast<uint32_t>(changes_high ? low : high), round, time_, 0}, key_);
      if (changes_high) {
        high ^= draw[0] & high_mask;
      } else {
        low ^= draw[0] & low_mask;
      }
    }
    value = (high << low_bits_) | low;
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace weft
