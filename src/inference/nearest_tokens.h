#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::inference {

enum class Similarity { kCosine, kEuclidean };

/// A token and its cosine similarity, or its Euclidean distance.
struct Neighbor {
  int64_t id = 0;
  double value = 0;
};

/// The `count` tokens whose embeddings (V, E) are most similar to that of token `id`, which is left
/// out, most similar first; of equal ones the lower id comes first.
std::vector<Neighbor> nearest_tokens(const at::Tensor& embeddings,
                                     int64_t id,
                                     int64_t count,
                                     Similarity similarity);

}  // namespace weft::inference
