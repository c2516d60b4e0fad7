#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// Uniform random sample of texts, bounded in size: each text gets a random rank from its index
/// (Philox), and the texts with the lowest ranks are kept. Independent of the number of threads.
class TextSample {
 public:
  /// Keeps at most `max_texts` texts and `max_bytes` bytes.
  TextSample(uint64_t seed, int64_t max_texts, int64_t max_bytes);

  void offer(std::string_view text);
  /// Returns the sampled texts in input order.
  std::vector<std::string> take();

  int64_t offered() const { return offered_; }

 private:
  struct Kept {
    uint64_t rank = 0;
    int64_t position = 0;
    std::string text;
  };
  void shrink(int64_t texts, int64_t bytes);

  uint64_t seed_;
  int64_t max_texts_;
  int64_t max_bytes_;
  int64_t offered_ = 0;
  int64_t bytes_ = 0;
  uint64_t limit_ = ~uint64_t{0};  // texts with higher ranks are rejected
  std::vector<Kept> kept_;
};

}  // namespace weft::data
