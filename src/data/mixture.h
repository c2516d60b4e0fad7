#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::data {

/// One source of a mixture.
struct MixturePart {
  int64_t items = 0;
  double weight = 1;
};

/// Weighted sources: each epoch contains each item of a source floor(weight) times, and a random
/// fraction of the items, chosen by (seed, epoch), once more. Needs no memory per item.
class Mixture {
 public:
  struct Entry {
    std::size_t part = 0;
    int64_t index = 0;  // within the part
    int64_t identity =
        0;  // of this item and of which time it is seen in the epoch; the same in every epoch
  };

  Mixture(const std::vector<MixturePart>& parts, uint64_t seed);

  int64_t size() const { return size_; }
  Entry locate(int64_t epoch, int64_t item) const;

 private:
  struct Part {
    int64_t items = 0;
    int64_t repeated = 0;        // items * floor(weight)
    int64_t begin = 0;           // first item of the epoch
    int64_t first_identity = 0;  // of its items
  };
  std::vector<Part> parts_;
  int64_t size_ = 0;
  uint64_t seed_;
};

}  // namespace weft::data
