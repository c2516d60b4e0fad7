#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::models {

/// Tensors of the n-grams of one order k, sorted by their tokens from first to last. n_k: their
/// number. Those of order 1 are all V tokens, in order.
struct NgramOrder {
  at::Tensor tokens;           // (n_k) int32, the last token; undefined for order 1
  at::Tensor log_probability;  // (n_k) float32, ln P(last token | those before it); -inf: zero
  at::Tensor backoff;          // (n_k) float32, ln of what multiplies P' for a token that was not
                               // seen after it; undefined for the highest order
  at::Tensor first_child;      // (n_k + 1) int32, first continuation in the next order; undefined
                               // for the highest order
};

/// A history: the n-gram of the last k tokens of each order k < n, as its index, or -1.
using NgramHistory = std::span<const int64_t>;

/// Look-ups in an n-gram language model, on the CPU. Thread-safe.
class NgramTables {
 public:
  NgramTables() = default;
  /// `is_floor`: the back-off is the log probability of every token that was not seen after a seen
  /// history (add_k).
  explicit NgramTables(std::vector<NgramOrder> orders, bool is_floor = false);

  int64_t order() const { return static_cast<int64_t>(orders_.size()); }  // n
  int64_t vocabulary() const { return views_.empty() ? 0 : views_[0].size; }
  const std::vector<NgramOrder>& orders() const { return orders_; }
  bool is_floor() const { return is_floor_; }
  /// Entries of a history: n - 1, and one for n = 1, which does not depend on it.
  std::size_t history_size() const { return std::max<std::size_t>(orders_.size(), 2) - 1; }

  /// Index of the n-gram that continues one of order k by a token, in order k + 1; -1: not seen.
  int64_t child(int64_t order, int64_t ngram, int64_t token) const;

  /// The history after one more token. `before` is empty at the beginning of a text.
  void advance(NgramHistory before, int64_t token, std::span<int64_t> after) const;

  /// ln P(token | history).
  double log_probability(NgramHistory history, int64_t token) const;
  /// ln P(. | history) of all V tokens.
  void log_probabilities(NgramHistory history, std::span<float> result) const;
  /// The most likely token; of equals that with the lowest id.
  int64_t most_likely(NgramHistory history) const;
  /// Whether the token has probability 0 after every history, as special tokens have.
  bool is_never_predicted(int64_t token) const;

 private:
  struct View {
    int64_t size = 0;
    const int32_t* tokens = nullptr;
    const float* log_probability = nullptr;
    const float* backoff = nullptr;
    const int32_t* first_child = nullptr;
  };
  bool has_children(std::size_t order, int64_t ngram) const;
  /// Sums of the back-offs of the histories of the orders k, k + 1, ...: what a probability that
  /// was found in order k is multiplied with. The last one is 0.
  std::vector<double> backoff_sums(NgramHistory history) const;

  std::vector<NgramOrder> orders_;
  std::vector<View> views_;
  std::vector<int32_t> by_probability_;  // tokens, the most likely first (order 1)
  bool is_floor_ = false;
};

}  // namespace weft::models
