#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nn {

/// Ids of the dropout calls of a forward pass (ForwardContext::rng_key). Reproducing a run depends
/// on them: never renumber. Group 0 is for modules around the stack, group 1 + i for its block i.
inline constexpr uint32_t kSitesPerBlock = 8;

enum class DropoutSite : uint32_t {
  kEmbedding = 0,
  kHead = 1,
  kHeadInner = 2,
  kDecoderEmbedding = 3,
  kLayerMix = 4,
  kInputConvolution = 5
};
enum class BlockDropoutSite : uint32_t {
  kAttentionWeights = 0,
  kAttentionOutput = 1,
  kFeedForward = 2,
  kFeedForwardOutput = 3,
  kCrossAttentionWeights = 4,
  kCrossAttentionOutput = 5,
  kAttentionDropPath = 6,
  kFeedForwardDropPath = 7
};

/// Of a recurrent sub-layer, beside the output and the drop path of its block.
enum class RecurrentDropoutSite : uint32_t {
  kWeights = 0,
  kReverseWeights = 2,
  kInput = 3,
  kStates = 4
};

/// Noise of the gates of a sub-layer: of its output, and of its keys and values.
enum class GateSite : uint32_t { kOutput = 0, kKeys = 1 };

/// Added to the layer index of a sub-layer's second, third, ... occurrence in its block.
inline constexpr int64_t kRepeatedSublayer = int64_t{1} << 16;

/// Added to the layer index for the distance vectors of its attention.
inline constexpr int64_t kDistanceSites = int64_t{1} << 19;

/// Added to the layer index for the classifier after it (early exit).
inline constexpr int64_t kExitSites = int64_t{1} << 21;

/// Times its letter, added to the layer index of a sub-layer that has a group of sites of its own.
inline constexpr int64_t kOwnSites = int64_t{1} << 20;

/// Added to the layer index for layer `index` of its DExTra unit, at most 65: below those of all
/// letters.
constexpr int64_t dextra_sites(int64_t index) { return (24 + index) * kOwnSites; }

/// Added to the layer index of a sub-layer for its gates (nn/depth/computation_gate.h).
inline constexpr int64_t kGateSites = int64_t{1} << 27;

/// The adapter at `index` in a model's list of adapters; no block has ids this high.
constexpr uint32_t adapter_site(std::size_t index) {
  return 0x80000000U | static_cast<uint32_t>(index);
}

constexpr uint32_t site_id(DropoutSite site) { return static_cast<uint32_t>(site); }
template <class Site>
constexpr uint32_t site_id(int64_t layer, Site site) {
  return (1 + static_cast<uint32_t>(layer)) * kSitesPerBlock + static_cast<uint32_t>(site);
}

}  // namespace weft::nn
