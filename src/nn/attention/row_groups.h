#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/attention/attention.h"

namespace weft::nn {

/// Rows of a batch in groups, each of which is attention between few rows. A row is a token, or one
/// head of a token: token * heads + head.
struct RowGroups {
  std::vector<int64_t> query_rows;
  std::vector<int64_t> key_rows;
  std::vector<int64_t> query_offsets{0};
  std::vector<int64_t> key_offsets{0};
  std::shared_ptr<kernels::AttentionGroups> groups = std::make_shared<kernels::AttentionGroups>();

  /// Ends a group: the rows that were appended since the last call. `number` distinguishes the
  /// groups of a sequence; `mask_begin` is AttentionGroups::mask_begins.
  void end_group(int64_t sequence, int64_t number, int64_t mask_begin = -1);
};

/// The first number of the groups of a round: those of different rounds are distinct.
inline int64_t first_group_number(int64_t round) { return round << 24; }

/// Rows of the queries, keys and values that groups refer to.
struct GroupedRows {
  at::Tensor query;  // (rows, H K)
  at::Tensor key;    // (rows, G K)
  at::Tensor value;  // (rows, G K)
};

/// Attention within the groups, a row for each of `query_rows`; `lse` is undefined unless wanted.
kernels::PartialAttention attend_in_groups(const RowGroups& groups,
                                           const GroupedRows& rows,
                                           const kernels::AttentionSettings& settings,
                                           const kernels::RngKey& rng_key,
                                           bool wants_lse);

/// The results of several rounds over disjoint keys, each with the same rows, as one.
class MergedRounds {
 public:
  /// The result of a round, which has `queries` of `count` rows; the others saw no key.
  void add(const kernels::PartialAttention& round,
           const std::vector<int64_t>& queries,
           int64_t count);
  /// (count, H K), in the dtype of the rounds; undefined without rounds
  at::Tensor merged() const;

 private:
  std::vector<at::Tensor> outputs_;  // (count, H K)
  std::vector<at::Tensor> sums_;     // (count, H)
};

}  // namespace weft::nn
