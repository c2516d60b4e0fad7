#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// What a draw is for; part of the generator's key, so that two purposes never share bits. Values
/// are public: they are part of what makes a run repeatable. Only ever append.
enum class Purpose : uint32_t {
  kInitialize = 1,
  kOrder = 2,
  kMixture = 3,
  kMask = 4,
  kPair = 5,
  kDropout = 6,
  kAttentionDropout = 7,
  kSample = 8,
  kTokenizer = 9,
  kFolds = 10,
  kNoise = 11,      // of texts, beside masks
  kGenerator = 12,  // what ELECTRA's generator puts in the place of hidden tokens
  kAugment = 13,    // of images
};

/// One block of Philox4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
/// 2, 3", SC 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of draws that is a pure function of (seed, purpose, time, item): time is an epoch or a
/// step. Copying it copies the place in the stream.
class Random {
 public:
  Random(uint64_t seed, Purpose purpose, uint64_t time, uint64_t item);

  uint32_t bits();
  uint64_t bits64();
  /// Uniform in [0, 1), from the 24 high bits of one draw; `uniform_double` uses 53 of two.
  float uniform();
  double uniform_double();
  /// Uniform in [0, bound), without bias (rejection); bound > 0.
  uint64_t below(uint64_t bound);
  /// Standard normal (Box-Muller on two uniforms).
  double normal();

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

/// A pseudo-random permutation of 0 .. size-1 that needs no memory: a Feistel network over Philox
/// with cycle walking. Pure function of (seed, purpose, time, size).
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, Purpose purpose, uint64_t time);
  int64_t operator()(int64_t index) const;
  int64_t size() const { return size_; }

 private:
  int64_t size_;
  uint32_t low_bits_ = 0;
  uint32_t high_bits_ = 0;
  std::array<uint32_t, 2> key_;
  uint32_t time_;
};

/// Mixes values into one 64-bit key (splitmix64 finaliser).
uint64_t mix(uint64_t a, uint64_t b);

}  // namespace weft
