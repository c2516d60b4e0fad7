#pragma once

#include <cstdint>
#include <memory>

#include "nn/attention/attention.h"

namespace weft::nn {

/// Attention through landmarks (arXiv:2102.03902).
struct NystromOptions {
  int64_t landmarks = 64;
  int64_t iterations = 6;           // of the approximate inverse
  int64_t convolution = 33;         // taps; 0: none
  bool is_exact_when_short = true;  // full attention where a text has no more tokens than landmarks
  bool is_exact = false;            // full attention for all texts
  /// The inverse starts with one factor for all heads of a text, as in the authors' code, rather
  /// than one for each.
  bool has_common_start = false;
};

/// Type `nystrom`.
std::shared_ptr<Attention> make_nystrom_attention(const AttentionOptions& options,
                                                  const NystromOptions& own);
AttentionMaker read_nystrom_attention(config::Section& section);

}  // namespace weft::nn
