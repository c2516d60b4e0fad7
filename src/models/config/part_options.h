#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/depth/exit_rule.h"
#include "nn/pooling/token_pooling.h"

/// Options of the parts of a layer, whose defaults are BERT's behaviour, and of kinds of models.
namespace weft::models {

/// Sliding-window attention.
struct WindowOptions {
  int64_t size = 0;  // tokens around each token, half on each side; causal: the token itself and
                     // size - 1 tokens before it; 0: no window
  int64_t first_layer = 0;   // first layer with the window
  int64_t global_every = 1;  // ModernBERT: layer i is global where this divides i, else local
  /// One entry per layer, where config.json has an order that no such number describes.
  std::vector<bool> global_layers = {};
  /// Sizes of the layers, where they are not all `size` (Longformer).
  std::vector<int64_t> layer_sizes = {};

  bool operator==(const WindowOptions&) const = default;
};

/// Attention of Big Bird.
struct BlockSparseOptions {
  bool is_full = false;       // full attention in its place
  int64_t block = 64;         // tokens
  int64_t random_blocks = 3;  // that each block attends to

  bool operator==(const BlockSparseOptions&) const = default;
};

/// Attention of Nystromformer (arXiv:2102.03902).
struct LandmarkOptions {
  int64_t landmarks = 64;
  int64_t segment_length = 0;  // tokens for which transformers computes landmarks; 0: `length`.
                               // Equal to `landmarks`: full attention
  int64_t convolution = 65;    // taps

  bool operator==(const LandmarkOptions&) const = default;
};

/// One of the two kinds of attention of Reformer: a token attends to its chunk and to chunks beside
/// it, of the text (local) or of its tokens sorted by hash.
struct ReformerChunkOptions {
  int64_t length = 64;  // tokens of a chunk
  int64_t before = 1;   // chunks before its own that a token attends to
  int64_t after = 0;    // and after

  bool operator==(const ReformerChunkOptions&) const = default;
};

/// Layers of Reformer (arXiv:2001.04451) as transformers has them.
struct ReformerOptions {
  std::vector<bool> hashed_layers = {};  // one entry per layer: hashed (lsh), else local
  bool is_causal = false;
  ReformerChunkOptions local = {};
  ReformerChunkOptions hashed = {};
  double hashed_dropout = 0;          // on the weights of hashed attention
  std::vector<int64_t> buckets = {};  // factors of their number; empty: by the length of the text
  int64_t rounds = 1;                 // of hashing
  std::optional<int64_t> seed = {};   // of the rotations, as torch's generator draws them
  /// Rows and columns of the grid of positions, and the widths of their vectors; empty: a vector
  /// for each position.
  std::vector<int64_t> axial_shape = {};
  std::vector<int64_t> axial_dims = {};
  double axial_init_std = 1;
  int64_t feed_forward_chunk = 0;  // tokens that the feed-forward computes at once; 0: all

  bool operator==(const ReformerOptions&) const = default;
};

/// Blocks of layers of Funnel-Transformer (arXiv:2006.03236). ModelOptions::layers is their sum,
/// without the decoder.
struct FunnelOptions {
  std::vector<int64_t> block_sizes = {4, 4, 4};  // layers with parameters of their own
  std::vector<int64_t> block_repeats = {};       // times that each of them runs; empty: once
  int64_t decoder_layers = 2;
  nn::TokenPoolingOptions pooling = {};
  bool pool_q_only = true;         // the first layer of a block reads the keys before pooling
  bool is_factorized = true;       // attention_type in config.json, which changes no number
  double initializer_range = 0.1;  // positions and biases start in U(0, range)

  bool operator==(const FunnelOptions&) const = default;
};

/// Times that each layer of a block runs, and layers that all blocks run.
int64_t block_repeats(const FunnelOptions& options, std::size_t block);
int64_t encoder_layers(const FunnelOptions& options);

/// Layers of Switch Transformers (arXiv:2101.03961) with experts, at equal distances.
struct SparseOptions {
  int64_t encoder_layers = 0;
  int64_t decoder_layers = 0;

  bool operator==(const SparseOptions&) const = default;
};

/// Which layers have biases.
struct BiasOptions {
  bool attention = true;         // projections of queries, keys and values
  bool attention_output = true;  // output projection, in families where it differs
  bool feed_forward = true;      // both projections
  bool norm = true;              // all norms, including those of heads
  bool head = true;              // first layer of a head
  bool mlm_output = true;        // MLM output matrix

  bool operator==(const BiasOptions&) const = default;
};

/// The decoder of an encoder-decoder; ModelOptions::layers, heads and width are the encoder's.
struct DecoderOptions {
  int64_t layers = 0;  // 0: no separate decoder
  int64_t heads = 0;
  int64_t width = 0;
  int64_t source_vocabulary = 0;  // of an encoder with a separate vocabulary; 0: shared
  bool share_encoder_decoder_embeddings = true;  // encoder and decoder share the word embedding;
                                                 // ModelOptions::tie_word_embeddings: the output
                                                 // matrix is the decoder's word embedding
  bool scale_embedding = false;                  // by sqrt(D)
  bool scale_decoder_outputs = false;  // states by 1 / sqrt(D) before the output matrix (T5)
  bool has_embedding_norm = true;

  // ids from config.json and generation_config.json; -1: none
  int64_t decoder_start_id = -1;  // first input token of the decoder
  int64_t forced_bos_id = -1;     // first token that it must generate
  int64_t forced_eos_id = -1;     // last token that it must generate at the maximum length

  bool operator==(const DecoderOptions&) const = default;
};

/// Classifiers after all layers (models/early_exit.h).
struct EarlyExitOptions {
  nn::ExitRuleChoice rule;
  bool weights_by_depth = true;  // of the classifiers' losses; else equal
};

/// Options of image models (arXiv:2010.11929, arXiv:2012.12877).
struct VisionOptions {
  int64_t image_size = 0;   // pixels per side; 0: not an image model
  int64_t patch_size = 16;  // pixels per side of a patch
  int64_t channels = 3;
  bool has_class_token = true;
  bool has_distillation_token = false;  // DeiT
  bool qkv_bias = true;

  int64_t grid() const { return patch_size > 0 ? image_size / patch_size : 0; }  // patches per side
  int64_t patch_width() const { return channels * patch_size * patch_size; }
  bool operator==(const VisionOptions&) const = default;
};

/// Options of XLM in addition to BERT's (arXiv:1901.07291).
struct XlmOptions {
  std::vector<std::string> languages = {};  // names by id; empty: a single, unnamed language
  bool uses_language_embeddings = true;     // a vector for each, if there are several
  /// Standard deviation of initial embeddings; nullopt: dim ^ -0.5.
  std::optional<double> embedding_init_std = {};
};

/// Weight of a word that occurs c times in a text: c, 1, ln(1 + c), or c times its inverse document
/// frequency in the training data, with each text then scaled to length 1; or, for each class, the
/// log-count ratio of naive Bayes.
enum class Weighting { kCount, kBinary, kLog, kTfidf, kNaiveBayes };

/// A linear classifier of word counts.
struct BagOptions {
  Weighting weighting = Weighting::kTfidf;
  int64_t ngrams = 1;       // longest n-grams that are features
  int64_t buckets = 65536;  // rows of the table shared by the hashes of two words and more
  double alpha = 1;         // what naive Bayes adds to each count

  bool operator==(const BagOptions&) const = default;
};

/// The decomposable attention model (arXiv:1606.01933). ModelOptions::embedding_size and dim are
/// the widths of its embeddings before and after the projection.
struct DecomposableOptions {
  int64_t hidden = 200;          // H, width of the feed-forward networks
  bool intra_attention = false;  // section 3.4
  int64_t distance = 10;         // from this distance in words the attention bias is shared
  bool has_null_token = false;   // a NULL token begins each text (section 3)

  bool operator==(const DecomposableOptions&) const = default;
};

enum class FeedForwardLmKind { kTanh, kBilinear };
/// Whether word embeddings and output matrix are the same, or start with the same values.
enum class EmbeddingTie { kNone, kInit, kAlways };

/// A feed-forward language model; ModelOptions::dim is the width of its embeddings.
struct FeedForwardLmOptions {
  int64_t context = 3;  // tokens that it reads
  int64_t hidden = 50;  // width of the hidden layer; 0: none
  bool direct = false;  // connections from the embeddings to the output
  FeedForwardLmKind kind = FeedForwardLmKind::kTanh;
  EmbeddingTie tie = EmbeddingTie::kNone;

  bool operator==(const FeedForwardLmOptions&) const = default;
};

/// An n-gram language model, estimated from counts.
struct NgramOptions {
  int64_t order = 3;                              // n
  std::string smoothing = "modified_kneser_ney";  // models/ngram/smoothing.h; empty: that of an
                                                  // ARPA file, which does not name it
  double k = 1;                                   // add_k
  std::optional<double> discount = {};            // absolute, kneser_ney; nullopt: estimated
  std::vector<double> fallback_discounts = {};    // D1, D2, D3 where they cannot be estimated
  std::vector<int64_t> prune = {};                // by order: n-grams with this count or less are
                                                  // left out; the last is that of higher orders
  std::vector<int64_t> sizes = {};  // n-grams of orders 2 to n, of each class one after another;
                                    // empty: not estimated yet
  // classification by Bayes' rule, with a model for each class
  bool has_uniform_prior = false;  // else the frequencies of the classes in the training data
  double temperature = 1;          // divides ln P(text | class)

  bool operator==(const NgramOptions&) const = default;
};

}  // namespace weft::models
