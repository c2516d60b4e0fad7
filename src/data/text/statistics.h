#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "data/dataset.h"
#include "data/store/token_store.h"

namespace weft::data {

/// Histogram of lengths in tokens, with power-of-two buckets.
class LengthCounts {
 public:
  static constexpr std::size_t kBuckets = 40;  // 0; 1; 2 to 3; 4 to 7; ...

  void add(int64_t length);

  int64_t count() const { return count_; }
  int64_t total() const { return total_; }
  int64_t shortest() const { return shortest_; }
  int64_t longest() const { return longest_; }
  double mean() const;
  int64_t bucket(std::size_t index) const { return buckets_.at(index); }
  /// Smallest length in a bucket; its largest is the next bucket's smallest minus one.
  static int64_t bucket_min(std::size_t bucket);

 private:
  std::array<int64_t, kBuckets> buckets_{};
  int64_t count_ = 0;
  int64_t total_ = 0;
  int64_t shortest_ = 0;
  int64_t longest_ = 0;
};

/// Statistics of a token store.
struct StoreStatistics {
  LengthCounts documents;
  LengthCounts sentences;
  int64_t unknown = 0;   // unknown tokens
  int64_t repeated = 0;  // sentences that occurred before with identical tokens
};

/// Reads the whole store; needs 8 bytes of memory per sentence. `unknown`: id of the unknown token,
/// negative if there is none.
StoreStatistics store_statistics(const TokenStore& store, int64_t unknown);

/// Statistics of one epoch of a data set.
struct DatasetStatistics {
  LengthCounts sequences;             // source and target together
  int64_t unknown = 0;                // unknown tokens
  int64_t targets = 0;                // tokens that contribute to the loss
  std::map<int64_t, int64_t> labels;  // number of sequences per class
};

/// Builds every example of the epoch, or `max_examples` evenly spaced ones if there are more.
DatasetStatistics dataset_statistics(const Dataset& dataset,
                                     int64_t epoch,
                                     int64_t unknown,
                                     int64_t max_examples);

}  // namespace weft::data
