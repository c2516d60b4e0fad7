#include "inference/nearest_tokens.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace weft::inference {

std::vector<Neighbor> nearest_tokens(const at::Tensor& embeddings,
                                     int64_t id,
                                     int64_t count,
                                     Similarity similarity) {
  TORCH_CHECK(id >= 0 && id < embeddings.size(0), "token ", id, " of ", embeddings.size(0));
  const at::NoGradGuard guard;
  const auto rows = embeddings.to(at::kCPU, at::kFloat);
  const auto own = rows[id].unsqueeze(0);  // (1, E)
  const bool is_cosine = similarity == Similarity::kCosine;
  const auto values =
      (is_cosine ? at::cosine_similarity(rows, own) : (rows - own).norm(2, 1)).contiguous();  // (V)
  const auto* data = values.const_data_ptr<float>();
  std::vector<Neighbor> neighbors;
  for (int64_t token = 0; token < values.numel(); ++token) {
    if (token != id) {
      neighbors.push_back({.id = token, .value = data[token]});
    }
  }
  const auto kept = std::min<int64_t>(count, static_cast<int64_t>(neighbors.size()));
  std::partial_sort(neighbors.begin(), neighbors.begin() + kept, neighbors.end(),
                    [&](const Neighbor& a, const Neighbor& b) {
                      const bool is_better = is_cosine ? a.value > b.value : a.value < b.value;
                      return a.value == b.value ? a.id < b.id : is_better;
                    });
  neighbors.resize(static_cast<std::size_t>(kept));
  return neighbors;
}

}  // namespace weft::inference
