#include "nn/attention/patterns/sparse_groups.h"

#include <algorithm>
#include <bit>

namespace weft::nn {

namespace {

/// So many queries make a group: fewer repeat the packing of keys, more compute more scores that
/// are then masked.
constexpr int64_t kGroupSize = 64;

/// Builds the groups of one head of one sequence.
class GroupBuilder {
 public:
  GroupBuilder(const SparsePattern& pattern,
               const std::vector<std::shared_ptr<SparsePattern>>& earlier,
               const SparseGroupOptions& options,
               RowGroups& result)
      : pattern_(pattern), earlier_(earlier), options_(options), result_(result) {}

  void add_sequence(const SequenceRows& rows) {
    rows_ = rows;
    next_number_ = first_group_number(options_.round);
    for (int64_t head = 0; head < (options_.by_head ? options_.heads : 1); ++head) {
      head_ = head;
      const auto step = std::max<int64_t>(1, pattern_.query_step(rows.span, head));
      for (int64_t remainder = 0; remainder < std::min(step, rows.span.keys); ++remainder) {
        add_every(step, remainder);
      }
    }
  }

 private:
  /// The queries at positions `remainder`, `remainder + step`, ...
  void add_every(int64_t step, int64_t remainder) {
    const auto& span = rows_.span;
    const auto skipped = std::max<int64_t>(0, (span.offset - remainder + step - 1) / step);
    std::vector<int64_t> positions;
    for (auto position = remainder + skipped * step; position < span.offset + span.queries;
         position += step) {
      positions.push_back(position);
      if (static_cast<int64_t>(positions.size()) == kGroupSize) {
        add_group(positions);
        positions.clear();
      }
    }
    if (!positions.empty()) {
      add_group(positions);
    }
  }

  /// The ranges of a query that it may see, not empty, within the sequence.
  std::vector<KeyRange> ranges_of(const SparsePattern& pattern, int64_t position) const {
    const auto& span = rows_.span;
    const auto end =
        options_.is_causal ? std::max(position + 1, std::min(span.prefix, span.keys)) : span.keys;
    std::vector<KeyRange> ranges;
    pattern.add_keys(span, head_, position, ranges);
    for (auto& range : ranges) {
      if (range.begin < 0) {
        range.begin += (-range.begin + range.step - 1) / range.step * range.step;
      }
      range.end = std::min(range.end, end);
    }
    std::erase_if(ranges, [](const KeyRange& range) { return range.begin >= range.end; });
    return ranges;
  }

  /// All keys of these ranges, ascending, in `keys_`; `index_of_` of each is its place there.
  void list_keys(const std::vector<std::vector<KeyRange>>& ranges) {
    is_listed_.resize(static_cast<std::size_t>(rows_.span.keys));  // all 0 between the calls
    index_of_.resize(is_listed_.size());
    int64_t first_key = rows_.span.keys;
    int64_t end_key = 0;
    const KeyRange* last = nullptr;
    for (const auto& of_query : ranges) {
      for (const auto& range : of_query) {
        if (last != nullptr && *last == range) {
          continue;
        }
        last = &range;
        first_key = std::min(first_key, range.begin);
        end_key = std::max(end_key, range.end);
        if (range.step == 1) {
          std::fill(is_listed_.begin() + range.begin, is_listed_.begin() + range.end, 1);
        } else {
          for (auto key = range.begin; key < range.end; key += range.step) {
            is_listed_[static_cast<std::size_t>(key)] = 1;
          }
        }
      }
    }
    keys_.clear();
    for (auto key = first_key; key < end_key; ++key) {
      const auto at_key = static_cast<std::size_t>(key);
      if (is_listed_[at_key] != 0) {
        index_of_[at_key] = std::ssize(keys_);
        keys_.push_back(key);
        is_listed_[at_key] = 0;
      }
    }
  }

  void show(const std::vector<KeyRange>& ranges, uint16_t* words) const {
    for (const auto& range : ranges) {
      if (range.step == 1) {
        const auto first = index_of_[static_cast<std::size_t>(range.begin)];
        kernels::AttentionGroups::show_keys(words, first, first + range.end - range.begin);
        continue;
      }
      for (auto key = range.begin; key < range.end; key += range.step) {
        const auto index = index_of_[static_cast<std::size_t>(key)];
        kernels::AttentionGroups::show_keys(words, index, index + 1);
      }
    }
  }

  void hide(const std::vector<KeyRange>& ranges, uint16_t* words) const {
    for (const auto& range : ranges) {
      const auto first = std::ranges::lower_bound(keys_, range.begin) - keys_.begin();
      for (auto index = first; index < std::ssize(keys_); ++index) {
        const auto key = keys_[static_cast<std::size_t>(index)];
        if (key >= range.end) {
          break;
        }
        if ((key - range.begin) % range.step == 0) {
          words[index / 16] &= static_cast<uint16_t>(~(1U << index % 16));
        }
      }
    }
  }

  void add_group(const std::vector<int64_t>& positions) {
    std::vector<std::vector<KeyRange>> ranges;
    ranges.reserve(positions.size());
    for (const auto position : positions) {
      ranges.push_back(ranges_of(pattern_, position));
    }
    list_keys(ranges);
    if (keys_.empty()) {
      return;
    }
    const auto count = std::ssize(keys_);
    const auto row_words = kernels::AttentionGroups::mask_words(count);
    auto& mask = result_.groups->mask;
    const auto begin = std::ssize(mask);
    bool sees_all = true;
    const auto queries_before = result_.query_rows.size();
    std::vector<uint16_t> words(static_cast<std::size_t>(row_words));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::ranges::fill(words, 0);
      show(ranges[i], words.data());
      for (const auto& pattern : earlier_) {
        hide(ranges_of(*pattern, positions[i]), words.data());
      }
      int64_t seen = 0;
      for (const auto word : words) {
        seen += std::popcount(word);
      }
      if (seen > 0) {
        sees_all = sees_all && seen == count;
        mask.insert(mask.end(), words.begin(), words.end());
        result_.query_rows.push_back(query_row(positions[i] - rows_.span.offset));
      }
    }
    if (result_.query_rows.size() == queries_before) {
      return;
    }
    if (sees_all) {
      mask.resize(static_cast<std::size_t>(begin));
    }
    for (const auto key : keys_) {
      result_.key_rows.push_back(key_row(key));
    }
    result_.end_group(rows_.sequence, next_number_++, sees_all ? -1 : begin);
  }

  int64_t query_row(int64_t query) const {
    const auto token = rows_.first_query + query;
    return options_.by_head ? token * options_.heads + head_ : token;
  }
  int64_t key_row(int64_t key) const {
    const auto token = rows_.first_key + key;
    return options_.by_head
               ? token * options_.key_heads + head_ / (options_.heads / options_.key_heads)
               : token;
  }

  const SparsePattern& pattern_;
  const std::vector<std::shared_ptr<SparsePattern>>& earlier_;
  SparseGroupOptions options_;
  RowGroups& result_;
  SequenceRows rows_ = {};
  int64_t head_ = 0;
  int64_t next_number_ = 0;
  std::vector<char> is_listed_;
  std::vector<int64_t> keys_;
  std::vector<int64_t> index_of_;
};

}  // namespace

RowGroups sparse_groups(const SparsePattern& pattern,
                        const std::vector<std::shared_ptr<SparsePattern>>& earlier,
                        const std::vector<SequenceRows>& sequences,
                        const SparseGroupOptions& options) {
  RowGroups result;
  GroupBuilder builder(pattern, earlier, options, result);
  for (const auto& rows : sequences) {
    builder.add_sequence(rows);
  }
  return result;
}

}  // namespace weft::nn
