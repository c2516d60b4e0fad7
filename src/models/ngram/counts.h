#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_array.h"

namespace weft::models {

/// Counts of all n-grams of orders 1 to n of a corpus, as a trie: the children of an n-gram are its
/// continuations by one token, sorted by token. An n-gram of order 1 has the index of its token,
/// seen or not. The arrays are in temporary files.
struct NgramCounts {
  struct Order {
    MappedArray<uint32_t> tokens;       // the last token of each n-gram; empty for order 1
    MappedArray<uint32_t> counts;       // occurrences
    MappedArray<uint32_t> first_child;  // index in the next order, one more than n-grams; empty for
                                        // the highest order
  };
  std::vector<Order> orders;  // of order k at k - 1
  int64_t tokens = 0;         // counted tokens

  std::size_t size(std::size_t order) const { return orders[order].counts.size(); }
};

struct NgramCounterOptions {
  int64_t order = 3;                        // n
  int64_t vocabulary = 0;                   // V; tokens are below it
  std::string directory;                    // of the temporary files
  int64_t block_tokens = int64_t{1} << 24;  // tokens that are sorted in memory, on each thread
  int threads = 0;                          // 0: all cores
};

/// Counts n-grams with memory for a few blocks: each block is sorted (by a radix sort of positions)
/// and written to disk as a run of distinct n-grams with counts, then the runs are merged.
class NgramCounter {
 public:
  explicit NgramCounter(NgramCounterOptions options);

  /// Adds a sequence. Its first token is only a history, and counted in n-grams of order 2 and
  /// above. Throws FileError.
  void add(std::span<const int64_t> sequence);

  /// Counts of all sequences. Throws FileError.
  NgramCounts finish();

 private:
  /// Tokens + 1 of whole sequences, each followed by n - 1 zeros.
  struct Block {
    std::vector<uint32_t> tokens;
    std::vector<uint32_t> starts;  // positions of tokens
  };
  /// Sorted distinct n-grams: n tokens + 1, padded with zeros, and their count.
  using Run = MappedArray<uint32_t>;

  void sort_blocks();
  Run sorted_run(Block& block) const;
  NgramCounts merge_runs();

  NgramCounterOptions options_;
  std::vector<Block> blocks_;
  std::vector<Run> runs_;
  std::vector<uint32_t> token_counts_;  // (V)
  int64_t tokens_ = 0;
};

}  // namespace weft::models
