#include "models/ngram/counts.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"

namespace weft::models {

namespace {

constexpr uint64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int kDigitBits = 16;

/// Sorts the starts by the `order` tokens that follow each, least significant digit first.
void sort_starts(const std::vector<uint32_t>& tokens,
                 std::vector<uint32_t>& starts,
                 std::size_t order,
                 uint64_t largest) {
  const auto in_text_order = starts;  // reads tokens one after another
  std::vector<uint32_t> sorted(starts.size());
  for (auto column = order; column-- > 0;) {
    for (int shift = 0; largest >> shift > 0; shift += kDigitBits) {
      std::vector<uint32_t> begins((std::size_t{1} << kDigitBits) + 1);
      const auto digit_at = [&](uint32_t start) {
        return (tokens[start + column] >> shift) & ((1U << kDigitBits) - 1);
      };
      for (const auto start : in_text_order) {
        ++begins[digit_at(start) + 1];
      }
      for (std::size_t digit = 1; digit < begins.size(); ++digit) {
        begins[digit] += begins[digit - 1];
      }
      for (const auto start : starts) {
        sorted[begins[digit_at(start)]++] = start;
      }
      starts.swap(sorted);
    }
  }
}

/// Builds the trie from n-grams in their sorted order.
class TrieBuilder {
 public:
  TrieBuilder(std::size_t order, const std::string& directory) {
    for (std::size_t i = 0; i < order; ++i) {
      counts_.orders.push_back({.tokens = MappedArray<uint32_t>(directory),
                                .counts = MappedArray<uint32_t>(directory),
                                .first_child = MappedArray<uint32_t>(directory)});
    }
  }

  /// `ngram`: n tokens + 1, zeros after the end of the sequence.
  void add(std::span<const uint32_t> ngram, uint32_t count) {
    const auto equal = static_cast<std::size_t>(
        std::mismatch(ngram.begin(), ngram.end(), previous_.begin(), previous_.end()).first -
        ngram.begin());
    for (std::size_t i = 1; i < equal && ngram[i] > 0; ++i) {
      auto& counts = counts_.orders[i].counts;
      counts[counts.size() - 1] += count;
    }
    for (auto i = equal; i < ngram.size() && ngram[i] > 0; ++i) {
      i == 0 ? begin_token(ngram[0]) : push(i, ngram[i] - 1, count);
    }
    previous_.assign(ngram.begin(), ngram.end());
  }

  NgramCounts finish(const std::vector<uint32_t>& token_counts) {
    counts_.orders[0].counts.append(token_counts);
    if (counts_.orders.size() > 1) {
      begin_token(static_cast<uint32_t>(token_counts.size()) + 1);
    }
    for (std::size_t i = 1; i + 1 < counts_.orders.size(); ++i) {
      counts_.orders[i].first_child.push_back(next_child(i));
    }
    return std::move(counts_);
  }

 private:
  uint32_t next_child(std::size_t order) const {
    return static_cast<uint32_t>(counts_.orders[order + 1].tokens.size());
  }

  /// Children of tokens up to this one begin at the next n-gram of order 2.
  void begin_token(uint32_t token) {
    if (counts_.orders.size() > 1) {
      auto& begins = counts_.orders[0].first_child;
      while (begins.size() < token) {
        begins.push_back(next_child(0));
      }
    }
  }

  void push(std::size_t order, uint32_t token, uint32_t count) {
    auto& own = counts_.orders[order];
    if (own.tokens.size() >= kMostIndex) {
      throw UserError(str_cat("model.order: the data have more than ", with_commas(kMostIndex),
                              " different ", order + 1, "-grams, choose a lower order"));
    }
    own.tokens.push_back(token);
    own.counts.push_back(count);
    if (order + 1 < counts_.orders.size()) {
      own.first_child.push_back(next_child(order));
    }
  }

  NgramCounts counts_;
  std::vector<uint32_t> previous_;
};

/// Position in a run of records.
struct RunReader {
  std::span<const uint32_t> rest;
  std::size_t order = 0;

  std::span<const uint32_t> ngram() const { return rest.first(order); }
  uint32_t count() const { return rest[order]; }
};

bool is_later(const RunReader& a, const RunReader& b) {
  return std::ranges::lexicographical_compare(b.ngram(), a.ngram());
}

}  // namespace

NgramCounter::NgramCounter(NgramCounterOptions options)
    : options_(std::move(options)), token_counts_(static_cast<std::size_t>(options_.vocabulary)) {
  if (options_.threads == 0) {
    options_.threads = available_cores();
  }
}

void NgramCounter::add(std::span<const int64_t> sequence) {
  if (sequence.empty()) {
    return;
  }
  tokens_ += static_cast<int64_t>(sequence.size()) - 1;
  if (static_cast<uint64_t>(tokens_) > std::numeric_limits<uint32_t>::max()) {
    throw UserError(str_cat("data.train: more than ",
                            with_commas(std::numeric_limits<uint32_t>::max()),
                            " tokens, which is the most that can be counted"));
  }
  for (const auto token : sequence.subspan(1)) {
    ++token_counts_[static_cast<std::size_t>(token)];
  }
  if (options_.order == 1) {
    return;
  }
  const auto most = static_cast<std::size_t>(options_.block_tokens);
  if (blocks_.empty() || blocks_.back().tokens.size() + sequence.size() > most) {
    if (static_cast<int>(blocks_.size()) == options_.threads) {
      sort_blocks();
    }
    blocks_.emplace_back();
  }
  auto& block = blocks_.back();
  for (const auto token : sequence) {
    block.starts.push_back(static_cast<uint32_t>(block.tokens.size()));
    block.tokens.push_back(static_cast<uint32_t>(token) + 1);
  }
  block.tokens.resize(block.tokens.size() + static_cast<std::size_t>(options_.order) - 1);
}

NgramCounter::Run NgramCounter::sorted_run(Block& block) const {
  const auto order = static_cast<std::size_t>(options_.order);
  sort_starts(block.tokens, block.starts, order, static_cast<uint64_t>(options_.vocabulary));
  Run run(options_.directory);
  const auto ngram_at = [&](uint32_t start) {
    return std::span<const uint32_t>(block.tokens).subspan(start, order);
  };
  for (std::size_t i = 0; i < block.starts.size();) {
    const auto ngram = ngram_at(block.starts[i]);
    uint32_t count = 0;
    for (; i < block.starts.size() && std::ranges::equal(ngram, ngram_at(block.starts[i])); ++i) {
      ++count;
    }
    run.append(ngram);
    run.push_back(count);
  }
  block = {};
  return run;
}

void NgramCounter::sort_blocks() {
  const auto first = runs_.size();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    runs_.emplace_back(options_.directory);
  }
  parallel_for(
      static_cast<int64_t>(blocks_.size()), 1,
      [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          runs_[first + i] = sorted_run(blocks_[i]);
        }
      },
      options_.threads);
  blocks_.clear();
}

NgramCounts NgramCounter::merge_runs() {
  const auto order = static_cast<std::size_t>(options_.order);
  TrieBuilder builder(order, options_.directory);
  std::priority_queue<RunReader, std::vector<RunReader>, decltype(&is_later)> readers(&is_later);
  for (const auto& run : runs_) {
    if (!run.empty()) {
      readers.push({.rest = run.values(), .order = order});
    }
  }
  while (!readers.empty()) {
    auto reader = readers.top();
    readers.pop();
    // Most n-grams of a run come before the next one of the other runs.
    do {
      builder.add(reader.ngram(), reader.count());
      reader.rest = reader.rest.subspan(order + 1);
    } while (!reader.rest.empty() && (readers.empty() || !is_later(reader, readers.top())));
    if (!reader.rest.empty()) {
      readers.push(reader);
    }
  }
  runs_.clear();
  return builder.finish(token_counts_);
}

NgramCounts NgramCounter::finish() {
  sort_blocks();
  auto counts = merge_runs();
  counts.tokens = tokens_;
  return counts;
}

}  // namespace weft::models
