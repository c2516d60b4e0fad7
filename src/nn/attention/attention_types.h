#pragma once

#include <memory>

#include "nn/attention/attention.h"
#include "nn/attention/patterns/sparse_pattern.h"

/// The attention types and patterns, each defined in a file of its own: the functions that read
/// their keys and, for the families that have them, those that make them.
namespace weft::nn {

/// full attention whose scores are not scaled dot products, with the keys of a score function; all
/// heads share its weights (nn/attention/scores/score_functions.h).
AttentionMaker read_scored_attention(config::Section& section);
/// the two patterns of Sparse Transformers (arXiv:1904.10509)
AttentionMaker read_sparse_transformer_attention(config::Section& section);
/// scores and weights projected across the heads (arXiv:2003.02436)
AttentionMaker read_talking_heads_attention(config::Section& section);
/// scores that fall with the distance, or around a predicted centre (arXiv:1810.10182)
AttentionMaker read_gaussian_attention(config::Section& section);
/// scores added to those of the layer before (arXiv:2012.11747)
AttentionMaker read_realformer_attention(config::Section& section);
/// one key for each query, drawn from the weights (arXiv:1502.03044)
AttentionMaker read_hard_attention(config::Section& section);
/// scores without products of queries and keys (arXiv:2005.00743)
AttentionMaker read_synthesizer_attention(config::Section& section);
/// products of elu features (arXiv:2006.16236)
AttentionMaker read_linear_attention(config::Section& section);
/// products of random features (arXiv:2009.14794)
AttentionMaker read_performer_attention(config::Section& section);
/// the last tokens of earlier sequences of the same text (arXiv:1901.02860)
AttentionMaker read_transformer_xl_attention(config::Section& section);
/// the same, with the tokens before these compressed (arXiv:1911.05507)
AttentionMaker read_compressive_attention(config::Section& section);
/// locality-sensitive hashing (arXiv:2001.04451)
AttentionMaker read_reformer_attention(config::Section& section);
/// the tokens nearest to learned centroids (arXiv:2003.05997)
AttentionMaker read_routing_attention(config::Section& section);
/// only the queries with the least uniform scores (arXiv:2012.07436)
AttentionMaker read_informer_attention(config::Section& section);
/// keys and values of several tokens, by a convolution (arXiv:1801.10198)
AttentionMaker read_memory_compressed_attention(config::Section& section);
/// inducing points that read the text for its tokens (arXiv:1810.00825)
AttentionMaker read_induced_attention(config::Section& section);
/// clusters of queries (arXiv:2007.04825)
AttentionMaker read_clustered_attention(config::Section& section);
/// attention over one part of the features, a convolution over the other (arXiv:2004.11886)
AttentionMaker read_lite_transformer_attention(config::Section& section);
/// spans of tokens that grow with their distance, nodes of a binary tree (arXiv:1911.04070)
AttentionMaker read_binary_tree_attention(config::Section& section);
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
/// tokens that see and are seen by all (arXiv:2004.05150, section 3.1)
PatternMaker read_global_pattern(config::Section& section);

/// Type `window`, with the key `window`: each token attends to those of its sequence at most half a
/// window away (arXiv:2004.05150, section 3.1); causal: to itself and the window - 1 tokens before
/// it.
AttentionMaker read_window_attention(config::Section& section);
AttentionMaker window_attention(int64_t window);

struct LongformerOptions {
  int64_t window = 512;       // tokens around each token, half on each side
  int64_t global_tokens = 1;  // first tokens of a sequence that see and are seen by all
};

/// Type `longformer` (arXiv:2004.05150, section 3.1): a window for most tokens; global tokens have
/// projections of their own. Throws config::Error for causal models.
AttentionMaker read_longformer_attention(config::Section& section);
std::shared_ptr<Attention> make_longformer_attention(const AttentionOptions& options,
                                                     const LongformerOptions& longformer);

struct LinformerOptions {
  int64_t landmarks = 256;         // R, reduced keys of each sequence
  int64_t length = 512;            // of the longest sequence
  bool shares_projections = true;  // of keys and values
};

/// Type `linformer` (arXiv:2006.04768): each sequence of length l has R keys E k and values F v,
/// where E and F are the first l columns of learned matrices (R, length). Positions are not part of
/// the keys; RoPE rotates them before the reduction. Throws config::Error for causal models and for
/// relative positions.
AttentionMaker read_linformer_attention(config::Section& section);
std::shared_ptr<Attention> make_linformer_attention(const AttentionOptions& options,
                                                    const LinformerOptions& linformer);

/// Attention of Funnel-Transformer (arXiv:2006.03236, appendix A.2) with Transformer-XL's positions
/// and biases for tokens of the same and of different types. Queries may be pooled rows: keys and
/// values are then ForwardContext::encoder_states. `separate_cls`: the scores of the first token
/// have neither positions nor types.
std::shared_ptr<Attention> make_funnel_attention(const AttentionOptions& options,
                                                 bool separate_cls);

}  // namespace weft::nn
