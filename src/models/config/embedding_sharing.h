#pragma once

namespace weft::models {

/// What a discriminator has in common with its generator.
enum class EmbeddingSharing {
  kShared,  // all embeddings (arXiv:2003.10555, section 3.2)
  /// The discriminator adds a table of its own to the generator's word embeddings, which get no
  /// gradient from it (arXiv:2111.09543, section 3.3).
  kGradientDisentangled
};

}  // namespace weft::models
