#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "data/dataset.h"
#include "data/store/token_store.h"

namespace weft::data {

/// Lengths in tokens, counted by powers of two.
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
  /// Least length of a bucket; the greatest is the next one's least less one.
  static int64_t least(std::size_t bucket);

 private:
  std::array<int64_t, kBuckets> buckets_{};
  int64_t count_ = 0;
  int64_t total_ = 0;
  int64_t shortest_ = 0;
  int64_t longest_ = 0;
};

/// What a token store holds.
struct StoreStatistics {
  LengthCounts documents;
  LengthCounts sentences;
  int64_t unknown = 0;   // tokens that stand for what the tokenizer does not know
  int64_t repeated = 0;  // sentences that stand somewhere before, token for token
};

/// Reads the whole store; 8 bytes of memory a sentence. `unknown`: that token's id, negative where
/// there is none.
StoreStatistics store_statistics(const TokenStore& store, int64_t unknown);

/// What an epoch of a data set holds.
struct DatasetStatistics {
  LengthCounts sequences;             // source and target together
  int64_t unknown = 0;                // tokens, as above
  int64_t targets = 0;                // tokens that the loss looks at
  std::map<int64_t, int64_t> labels;  // sequences of each class
};

/// Makes every example of the epoch, or `most` of them, evenly spread, where there are more.
DatasetStatistics dataset_statistics(const Dataset& dataset,
                                     int64_t epoch,
                                     int64_t unknown,
                                     int64_t most);

}  // namespace weft::data
