#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// Purpose of a random draw; part of the generator's key, so two purposes never share bits. The
/// values are part of what makes a run reproducible: only append.
enum class RandomPurpose : uint32_t {
  kInitialize = 1,
  kShuffle = 2,
  kMixture = 3,
  kMask = 4,
  kPair = 5,
  kDropout = 6,
  kAttentionDropout = 7,
  kSample = 8,
  kTokenizer = 9,
  kFolds = 10,
  kCorruption = 11,  // text corruption other than masking
  kGenerator = 12,   // tokens that ELECTRA's generator samples for masked positions
  kAugment = 13,     // image augmentation
  kNoise = 14,       // noise tokens of a sampled softmax
  kPattern = 15,     // random blocks of an attention pattern
  kFeatures = 16,    // random features and hashes of attention
  kLayerDrop = 17,   // layers that a step leaves out
};

/// One block of Philox4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
/// 2, 3", SC 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Random stream that is a pure function of (seed, purpose, time, item), where time is an epoch or
/// a step. A copy continues from the same position.
class Random {
 public:
  Random(uint64_t seed, RandomPurpose purpose, uint64_t time, uint64_t item);

  uint32_t bits();
  uint64_t bits64();
  /// Uniform in [0, 1), from the 24 high bits of one draw; `uniform_double` uses 53 bits of two.
  float uniform();
  double uniform_double();
  /// Uniform in [0, bound), unbiased (rejection sampling); bound > 0.
  uint64_t uniform_int(uint64_t bound);
  /// Standard normal (Box-Muller on two uniforms).
  double normal();

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

/// Pseudo-random permutation of 0 .. size-1 in O(1) memory: a Feistel network over Philox with
/// cycle walking. Pure function of (seed, purpose, time, size).
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, RandomPurpose purpose, uint64_t time);
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
uint64_t hash_combine(uint64_t a, uint64_t b);

}  // namespace weft
