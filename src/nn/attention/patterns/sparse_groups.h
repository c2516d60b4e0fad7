#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/attention/row_groups.h"

namespace weft::nn {

/// One sequence of a batch and where its rows are.
struct SequenceRows {
  AttentionSpan span;
  int64_t first_query = 0;
  int64_t first_key = 0;
  int64_t sequence = 0;  // in the batch
};

struct SparseGroupOptions {
  int64_t heads = 1;      // H
  int64_t key_heads = 1;  // G
  bool is_causal = false;
  bool by_head = false;  // a row is a head of a token
  int64_t round = 0;     // of this pattern
};

/// The queries of a pattern in groups that have most of their keys in common. A query without keys
/// is in none. Keys of `earlier` patterns are left out.
RowGroups sparse_groups(const SparsePattern& pattern,
                        const std::vector<std::shared_ptr<SparsePattern>>& earlier,
                        const std::vector<SequenceRows>& sequences,
                        const SparseGroupOptions& options);

}  // namespace weft::nn
