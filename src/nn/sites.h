#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nn {

/// Numbers of the places where chance enters a forward pass (Pass::chance). They are part of what
/// makes a run repeatable: never renumber. Group 0 belongs to what stands around the stack, group 1
/// + i to its block i.
inline constexpr uint32_t kSitesOfGroup = 8;

enum class Site : uint32_t { kEmbedding = 0, kHead = 1, kHeadInner = 2, kDecoderEmbedding = 3 };
enum class BlockSite : uint32_t {
  kAttentionWeights = 0,
  kAttentionOutput = 1,
  kFeedForward = 2,
  kFeedForwardOutput = 3,
  kCrossAttentionWeights = 4,
  kCrossAttentionOutput = 5,
  kAttentionPath = 6,
  kFeedForwardPath = 7
};

/// The adapter of place `index` in a model's list of adapters; no block is so far up.
constexpr uint32_t adapter_site(std::size_t index) {
  return 0x80000000U | static_cast<uint32_t>(index);
}

constexpr uint32_t site(Site place) { return static_cast<uint32_t>(place); }
constexpr uint32_t site(int64_t layer, BlockSite place) {
  return (1 + static_cast<uint32_t>(layer)) * kSitesOfGroup + static_cast<uint32_t>(place);
}

}  // namespace weft::nn
