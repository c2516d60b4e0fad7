#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/forward_context.h"

namespace weft::nn {

enum class TokenPoolingType { kMean, kMax };

/// Layers that shorten each sequence by pooling every two tokens (arXiv:2006.03236, section 2.2).
struct TokenPoolingOptions {
  TokenPoolingType type = TokenPoolingType::kMean;
  bool separate_cls = true;  // the first token stays as it is, windows start after it
  /// With a separate first token the last token is left out of the windows: a sequence with a
  /// power of two tokens keeps one.
  bool truncate_seq = true;

  bool operator==(const TokenPoolingOptions&) const = default;
};

/// Rows of a pass, and the context of the layers after them.
struct PooledRows {
  at::Tensor rows;  // (M, D)
  ForwardContext context;
};

/// Tokens of a sequence of `length` tokens after pooling; the length itself if it is too short.
int64_t pooled_length(int64_t length, const TokenPoolingOptions& options);
/// The layout after pooling `times` times.
kernels::Layout pooled_layout(const kernels::Layout& layout,
                              int64_t times,
                              const TokenPoolingOptions& options);

/// The context of rows that a layer leaves of about every second one of each sequence: layout,
/// stride, token types (those of the rows `first`, one for each), and what keys their dropout.
/// `length_of`: rows that it leaves of so many.
ForwardContext halved_context(const ForwardContext& context,
                              const std::vector<int64_t>& first,
                              const std::function<int64_t(int64_t)>& length_of);

/// Pools the rows (N, D) of each sequence by itself. The context is halved_context, with the first
/// row of each window.
PooledRows pool_tokens(const at::Tensor& rows,
                       const ForwardContext& context,
                       const TokenPoolingOptions& options);

/// For each token of a text the row (M, D) that it was pooled into, after pooling with this stride;
/// zeros for tokens that no window contains. -> (N, D)
at::Tensor upsample_tokens(const at::Tensor& rows,
                           const kernels::Layout& pooled,
                           const kernels::Layout& tokens,
                           int64_t stride,
                           const TokenPoolingOptions& options);

}  // namespace weft::nn
