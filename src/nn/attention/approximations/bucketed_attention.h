#pragma once

#include <cstdint>
#include <vector>

#include "nn/attention/attention.h"
#include "nn/attention/row_groups.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

struct BucketedOptions {
  int64_t look_back = 1;        // chunks of its bucket that a chunk attends to as well
  int64_t rounds = 1;           // of distributing the tokens to buckets
  bool prefers_others = false;  // a token attends to itself only if there is no other
  double scale = 1;             // of the scores
};

/// Where the rows of a sequence are, and how many queries are at its end.
struct BucketedSequence {
  int64_t first_query = 0;
  int64_t first_key = 0;
  int64_t queries = 0;
  int64_t keys = 0;
};

/// Chunks of buckets.
struct BucketedGroups {
  RowGroups rows;
  std::vector<float> alone;  // of each query, 1 if it has no other key than itself
};

/// Attention in groups of tokens, for each head. Queries and keys are the same projection. Rounds
/// of grouping are merged by the sums that they divide by.
class SharedKeyAttention : public Attention {
 public:
  SharedKeyAttention(const AttentionOptions& options, const BucketedOptions& own);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;

 protected:
  /// What the scores are products of, given the projections (rows, K) of the heads.
  virtual at::Tensor queries(const at::Tensor& projected) const { return projected; }
  virtual at::Tensor keys(const at::Tensor& projected) const = 0;

  /// The mixed values of the queries, (rows, K).
  virtual at::Tensor attend(const GroupedRows& rows,
                            const std::vector<BucketedSequence>& sequences,
                            const ForwardContext& context) const = 0;

  /// One round for all rows; with the log of its sums, if there are others.
  kernels::PartialAttention attend_round(const GroupedRows& rows,
                                         const BucketedGroups& groups,
                                         const ForwardContext& context) const;

  const AttentionOptions& options() const { return options_; }
  const BucketedOptions& bucketed() const { return own_; }
  kernels::AttentionSettings settings(const ForwardContext& context) const;
  kernels::RngKey rng_key(const ForwardContext& context) const;

 private:
  AttentionOptions options_;
  BucketedOptions own_;
  RotaryAngles angles_;
  Linear shared_{nullptr};
  Linear value_{nullptr};
  Linear output_{nullptr};
};

/// Attention among tokens in the same bucket. The tokens of a bucket are cut into chunks, which
/// attend to themselves and to `look_back` chunks of the bucket before them, so that no later token
/// moves an earlier one.
class BucketedAttention : public SharedKeyAttention {
 public:
  using SharedKeyAttention::SharedKeyAttention;

 protected:
  /// Tokens of a chunk.
  virtual int64_t chunk(int64_t length) const = 0;

  /// The bucket of each head of each token of a sequence, (S H), given keys() of these rows.
  virtual std::vector<int64_t> buckets(const at::Tensor& key,
                                       int64_t round,
                                       const ForwardContext& context) const = 0;

  at::Tensor attend(const GroupedRows& rows,
                    const std::vector<BucketedSequence>& sequences,
                    const ForwardContext& context) const override;

  /// Adds the chunks of one bucket of a head, whose tokens are ascending. `number` counts the
  /// groups of the sequence.
  void add_bucket(const std::vector<int64_t>& tokens,
                  const BucketedSequence& sequence,
                  int64_t b,
                  int64_t head,
                  int64_t& number,
                  BucketedGroups& result) const;

 private:
  BucketedGroups groups_of_round(const at::Tensor& key,
                                 const std::vector<BucketedSequence>& sequences,
                                 int64_t round,
                                 const ForwardContext& context) const;
};

/// Throws config::Error if heads share keys, which are the same as the queries.
void require_own_keys(const config::Section& section,
                      const AttentionOptions& options,
                      std::string_view type);

}  // namespace weft::nn
