#include "data/batch.h"

#include <numeric>
#include <stdexcept>

namespace weft::data {

int64_t Example::tokens() const {
  return ids.empty() && patch_width > 0 ? std::ssize(patches) / patch_width : std::ssize(ids);
}

void Batch::add_patches(const Example& example) {
  const bool is_whole =
      example.patch_width == 0
          ? example.patches.empty()
          : example.patches.size() % static_cast<std::size_t>(example.patch_width) == 0;
  if (!is_whole || (sequences() > 0 && example.patch_width != patch_width)) {
    throw std::invalid_argument("Batch::add: patch width differs from the batch");
  }
  patch_width = example.patch_width;
  patches.insert(patches.end(), example.patches.begin(), example.patches.end());
}

void Batch::add_sentences(const Example& example) {
  const auto& lengths = example.sentence_lengths;
  if (sequences() > 0 && sentence_counts.empty() != lengths.empty()) {
    throw std::invalid_argument("Batch::add: examples with and without sentences in one batch");
  }
  if (lengths.empty()) {
    return;
  }
  if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) !=
      static_cast<int64_t>(example.ids.size())) {
    throw std::invalid_argument("Batch::add: the sentences of an example are not all of its ids");
  }
  sentence_lengths.insert(sentence_lengths.end(), lengths.begin(), lengths.end());
  sentence_counts.push_back(static_cast<int64_t>(lengths.size()));
}

std::vector<int64_t> Batch::targets_per_row() const {
  std::vector<int64_t> counts;
  for (std::size_t target = 0; target < target_rows.size(); ++target) {
    if (target == 0 || target_rows[target] != target_rows[target - 1]) {
      counts.push_back(0);
    }
    ++counts.back();
  }
  return counts;
}

void Batch::add(int64_t item, const Example& example) {
  const bool has_token_type_ids = !example.token_type_ids.empty();
  if (has_token_type_ids && example.token_type_ids.size() != example.ids.size()) {
    throw std::invalid_argument(
        "Batch::add: an example has a different number of token types than ids");
  }
  if (sequences() > 0 && has_token_type_ids == token_type_ids.empty() && !ids.empty() &&
      !example.ids.empty()) {
    throw std::invalid_argument("Batch::add: examples with and without token types in one batch");
  }
  const bool has_positions = !example.positions.empty();
  if (has_positions && example.positions.size() != example.ids.size()) {
    throw std::invalid_argument(
        "Batch::add: an example has a different number of positions than ids");
  }
  if (sequences() > 0 && has_positions == positions.empty() && !ids.empty()) {
    throw std::invalid_argument("Batch::add: examples with and without positions in one batch");
  }
  if (example.target_positions.size() != example.targets.size()) {
    throw std::invalid_argument(
        "Batch::add: an example has a different number of targets than target positions");
  }
  if (sequences() > 0 &&
      values.size() != example.values.size() * static_cast<std::size_t>(sequences())) {
    throw std::invalid_argument(
        "Batch::add: an example has a different number of values than the batch");
  }
  if (sequences() > 0 && (source_offsets.size() > 1) == example.source_ids.empty()) {
    throw std::invalid_argument("Batch::add: examples with and without a source in one batch");
  }
  if (sequences() > 0 && streams.empty() == (example.stream >= 0)) {
    throw std::invalid_argument("Batch::add: examples with and without a stream in one batch");
  }
  add_patches(example);
  add_sentences(example);
  const int64_t begin = tokens();
  items.push_back(item);
  ids.insert(ids.end(), example.ids.begin(), example.ids.end());
  token_type_ids.insert(token_type_ids.end(), example.token_type_ids.begin(),
                        example.token_type_ids.end());
  positions.insert(positions.end(), example.positions.begin(), example.positions.end());
  offsets.push_back(begin + example.tokens());
  if (!example.source_ids.empty()) {
    source_ids.insert(source_ids.end(), example.source_ids.begin(), example.source_ids.end());
    source_offsets.push_back(static_cast<int64_t>(source_ids.size()));
  }
  for (const int64_t position : example.target_positions) {
    target_rows.push_back(begin + position);
  }
  targets.insert(targets.end(), example.targets.begin(), example.targets.end());
  prefix_lengths.push_back(example.prefix_length);
  if (example.stream >= 0) {
    streams.push_back(example.stream);
  }
  labels.push_back(example.label);
  values.insert(values.end(), example.values.begin(), example.values.end());
}

}  // namespace weft::data
