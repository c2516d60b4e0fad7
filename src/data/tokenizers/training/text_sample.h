#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// A sample of texts of bounded size: each text draws a rank by its place (Philox), and those of
/// the least ranks stay. So it is uniform, and the same whatever the number of threads.
class TextSample {
 public:
  /// At most so many texts and bytes.
  TextSample(uint64_t seed, int64_t most_texts, int64_t most_bytes);

  void offer(std::string_view text);
  /// The texts kept, in the order in which they came.
  std::vector<std::string> take();

  int64_t offered() const { return offered_; }

 private:
  struct Kept {
    uint64_t rank = 0;
    int64_t place = 0;
    std::string text;
  };
  void shrink(int64_t texts, int64_t bytes);

  uint64_t seed_;
  int64_t most_texts_;
  int64_t most_bytes_;
  int64_t offered_ = 0;
  int64_t bytes_ = 0;
  uint64_t limit_ = ~uint64_t{0};  // ranks above it are out for good
  std::vector<Kept> kept_;
};

}  // namespace weft::data
