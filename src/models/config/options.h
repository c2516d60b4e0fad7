#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "kernels/activation.h"
#include "models/config/document_options.h"
#include "models/config/elmo_options.h"
#include "models/config/layer_types.h"
#include "models/config/part_options.h"
#include "models/config/seq2seq_rnn_options.h"
#include "nn/convolution/input_convolution.h"
#include "nn/depth/drop_path.h"
#include "nn/feed_forward/mixture_of_experts.h"
#include "nn/norm/norm.h"
#include "nn/position/position_types.h"

namespace weft::models {

/// What a discriminator has in common with its generator.
enum class EmbeddingSharing {
  kShared,  // all embeddings (arXiv:2003.10555, section 3.2)
  /// The discriminator adds a table of its own to the generator's word embeddings, which get no
  /// gradient from it (arXiv:2111.09543, section 3.3).
  kGradientDisentangled
};

struct FamilyDefinition;
/// A registered model family: built-in ones and those of register_family (family_definition.h).
using Family = const FamilyDefinition*;
/// Throws std::invalid_argument for an unknown name, with the nearest one.
Family family_named(std::string_view name);

enum class Head {
  kNone,
  kBase,  // the same, without the decoder that makes a state for each token (funnel)
  kMaskedLm,
  kPretraining,
  kNextSentence,
  kSequence,
  kToken,
  kSpan,
  kReplacedToken,    // ELECTRA's discriminator: was this token replaced?
  kCausalLm,         // the next token
  kBidirectionalLm,  // the next token, and from the other direction the one before
  kConditional,      // the next token of the target, given the source
  kImage,            // classes of images
  kMaskedImage,      // pixels of masked patches
  kDistilledImage,   // classes of images, by two classifiers (DeiT: one learns from a teacher)
};
using NormPlacement = nn::NormPlacement;

/// All options that define a model's shapes and computation. Read from the `model:` section or from
/// a config.json.
struct ModelOptions {
  Family family = family_named("bert");
  Head head = Head::kNone;
  int64_t vocabulary = 0;  // V; from the tokenizer
  int64_t dim = 768;       // D
  int64_t layers = 12;
  int64_t heads = 12;           // H
  int64_t width = 3072;         // F
  int64_t length = 512;         // maximum tokens of a sequence
  int64_t type_vocab_size = 2;  // T; 1: no segments (RoBERTa); 0: no such table (DistilBERT)
  int64_t embedding_size = 0;   // E, with a projection to D (ELECTRA); 0: D
  kernels::Activation activation = kernels::Activation::kGelu;
  NormPlacement norm_placement = NormPlacement::kPost;
  double norm_epsilon = 1e-12;
  double dropout = 0.1;  // hidden
  double attention_dropout = 0.1;
  std::optional<double> classifier_dropout;  // classification; nullopt: the family's default
  double sequence_dropout = 0.2;             // DistilBERT: of its sequence classifier
  double span_dropout = 0.1;                 // DistilBERT: of its span head
  double init_std = 0.02;                    // standard deviation of initial matrices
  bool tie_word_embeddings = true;
  bool has_sinusoidal_positions = false;  // sinusoidal position table, arXiv:1706.03762

  // layers
  int64_t key_value_heads = 0;  // G: key and value heads, each shared by H / G query heads; 0: H
  int64_t head_dim = 0;         // K; 0: D / H
  bool scale_attn_by_inverse_layer_idx = false;  // divides the scores of layer i by i + 1
  bool is_gated = false;                         // the feed-forward
  bool is_parallel = false;                      // attention and feed-forward share their input
  double activation_dropout = 0;                 // on the F-wide activations
  double embedding_dropout = 0;                  // where `dropout` covers the sub-layers only
  nn::RotaryPositionOptions rope;                // of families with rotary positions
  WindowOptions window;
  BlockSparseOptions block_sparse;  // big_bird
  LandmarkOptions nystrom;          // nystromformer
  FunnelOptions funnel;             // funnel
  nn::MixtureOptions mixture;       // mixtral, switch_transformers
  SparseOptions sparse;             // switch_transformers
  ReformerOptions reformer;         // reformer
  int64_t layer_groups = 0;         // nn::StackOptions::layer_groups
  BiasOptions biases;
  nn::T5BiasOptions relative;  // of T5
  /// Of deberta-v2; nullopt: no such positions.
  std::optional<nn::DisentangledOptions> disentangled = {};
  bool has_position_embeddings = true;                                // deberta-v2: learned ones
  std::optional<nn::InputConvolutionOptions> input_convolution = {};  // deberta-v2; nullopt: none

  // heads and initial values
  bool uses_mean_pooling = false;  // sequence classifiers read the mean, not the first token
  kernels::Activation head_activation = kernels::Activation::kGelu;
  bool is_prefix_lm = false;  // prompt attention is bidirectional (prefix LM)
  double init_cutoff = 0;     // truncates initial values, in standard deviations; 0: no limit

  nn::StochasticDepth stochastic_depth;
  std::optional<EarlyExitOptions> early_exit = {};  // of encoders that classify sequences
  std::optional<DocumentOptions> document = {};     // of encoders that read sentences separately

  LayerTypes layer_types;            // types of layer parts other than the family's
  DecoderOptions decoder;            // encoder-decoders
  VisionOptions vision;              // models of images
  XlmOptions xlm;                    // xlm
  BagOptions bag;                    // bag_of_words
  DecomposableOptions decomposable;  // decomposable_attention
  NgramOptions ngram;                // ngram
  FeedForwardLmOptions feed_forward_lm;
  Seq2SeqRnnOptions seq2seq_rnn;
  ElmoOptions elmo;

  // classification of sequences or tokens
  std::vector<std::string> labels;  // names of the classes
  bool is_regression = false;
  bool is_multi_label = false;  // independent binary decision per class

  // ids from config.json; -1: none
  int64_t pad_id = 0;
  int64_t bos_id = -1;
  int64_t eos_id = -1;
  int64_t prefix_end_id = -1;  // is_prefix_lm: separator of prompt and answer
};

/// Outputs of a classification head: classes, 1 for a plain regression, 2 for spans (start and
/// end).
int64_t head_outputs(const ModelOptions& options);

/// G: number of key and value heads.
int64_t key_value_heads(const ModelOptions& options);
/// K: width of a head.
int64_t head_dim(const ModelOptions& options);
/// H K for a layer's queries, G K for its keys and for its values.
int64_t query_width(const ModelOptions& options);
int64_t key_width(const ModelOptions& options);

/// Whether the token type ids are segments, or languages (`xlm.languages`).
bool uses_token_type_ids(const ModelOptions& options);
bool uses_language_ids(const ModelOptions& options);

/// E: the width of the embeddings and of the input of the output matrix.
int64_t embedding_width(const ModelOptions& options);

/// Whether the layers have two streams and keep no activations.
bool has_reversible_layers(const ModelOptions& options);
/// Width of the last hidden states: D, or 2 D where both streams of reversible layers are states.
int64_t states_dim(const ModelOptions& options);

/// Whether a layer attends to whole sequences rather than a window.
bool is_global_attention_layer(const ModelOptions& options, int64_t layer);
/// Number of layers with parameters of their own.
int64_t distinct_layers(const ModelOptions& options);

/// Dropout rate before the classification head.
double classifier_dropout(const ModelOptions& options);

/// Rows of the position table before that of a sequence's first token: RoBERTa's positions start
/// after the row of the pad id.
int64_t position_offset(const ModelOptions& options);

/// The types of the positions: those of the config, otherwise those of the family.
std::vector<nn::PositionChoice> position_choices(const ModelOptions& options);

/// Maximum sequence length; 0: none, `length` is only that of training.
int64_t position_limit(const ModelOptions& options);

/// Maximum tokens of a text: `length`, or for documents that of all their sentences.
int64_t text_length(const ModelOptions& options);

/// Whether no family of transformers has such parts: the model is saved with `model_type` weft.
bool has_own_parts(const ModelOptions& options);

/// Reads `model:`. `base`: the init_from model, which the section may change only where the weights
/// allow it (dropouts). Throws config::Error.
ModelOptions read_model_options(config::Section& section, const ModelOptions* base = nullptr);

}  // namespace weft::models
