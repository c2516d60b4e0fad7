#pragma once

#include "nn/attention/attention.h"
#include "nn/attention/sparse_pattern.h"

/// The readers of the attention types and patterns, each defined in a file of its own.
namespace weft::nn {

/// full attention whose scores are not scaled dot products, with the keys of a score function; all
/// heads share its weights (nn/attention/score_functions.h).
AttentionMaker read_scored_attention(config::Section& section);
/// the two patterns of Sparse Transformers (arXiv:1904.10509)
AttentionMaker read_sparse_transformer_attention(config::Section& section);
/// several patterns, in all heads or in turn
AttentionMaker read_hybrid_attention(config::Section& section);

PatternMaker read_window_pattern(config::Section& section);
/// blocks of tokens, or a number of blocks (arXiv:1911.02972)
PatternMaker read_block_local_pattern(config::Section& section);
/// every n-th token
PatternMaker read_strided_pattern(config::Section& section);
/// a window with gaps (arXiv:2004.05150, section 3.1)
PatternMaker read_dilated_pattern(config::Section& section);
/// a window of its own for each head (arXiv:1912.00544)
PatternMaker read_multi_scale_pattern(config::Section& section);
/// neighbouring, global and random blocks (arXiv:2007.14062)
PatternMaker read_big_bird_pattern(config::Section& section);
/// tokens that see and are seen by all (arXiv:2004.05150, section 3.1)
PatternMaker read_global_pattern(config::Section& section);

}  // namespace weft::nn
