#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "kernels/activation.h"
#include "models/config/baseline_options.h"
#include "models/config/decoder_options.h"
#include "models/config/modern_options.h"
#include "models/config/vision_options.h"
#include "models/config/xlm_options.h"
#include "nn/norm/norm_place.h"

namespace weft::models {

enum class Family {
  kBert,
  kRoberta,
  kXlmRoberta,
  kDistilBert,
  kElectra,
  kModernBert,
  kBagOfWords,
  kDecomposableAttention,
  kTransformer,  // of 2017
  kGpt2,
  kLlama,
  kMistral,
  kQwen2,
  kGptNeoX,
  kT5,
  kMt5,
  kBart,
  kMbart,
  kMarian,
  kVit,
  kDeit,
  kXlm
};
enum class Head {
  kNone,
  kMaskedLm,
  kPretraining,
  kNextSentence,
  kSequence,
  kToken,
  kSpan,
  kReplacedToken,  // ELECTRA's discriminator: was this token replaced?
  kCausalLm,       // the next token
  kConditional,    // the next token of the target, given the source
  kImage,          // classes of images
  kMaskedImage,    // pixels of hidden patches
  kTaughtImage,    // classes of images, by two classifiers (DeiT's, of which a teacher taught one)
};
using NormPlace = nn::NormPlace;

/// All that decides a model's shape and its arithmetic. Filled from the `model:` section, or from a
/// config.json.
struct ModelOptions {
  Family family = Family::kBert;
  Head head = Head::kNone;
  int64_t vocabulary = 0;  // V; from the tokenizer
  int64_t dim = 768;       // D
  int64_t layers = 12;
  int64_t heads = 12;         // H
  int64_t width = 3072;       // F
  int64_t length = 512;       // most tokens of a sequence
  int64_t segments = 2;       // T; 1: none told apart (RoBERTa); 0: no table of them (DistilBERT)
  int64_t embedding_dim = 0;  // E, where a projection to D follows (ELECTRA); 0: D
  kernels::Activation activation = kernels::Activation::kGelu;
  NormPlace norm_place = NormPlace::kPost;
  double norm_epsilon = 1e-12;
  double dropout = 0.1;  // hidden
  double attention_dropout = 0.1;
  std::optional<double> head_dropout;  // classification; nothing: as the family does
  double sequence_dropout = 0.2;       // DistilBERT's own, of its classifier of sequences
  double span_dropout = 0.1;           // and of its finder of spans
  double deviation = 0.02;             // of the normal that initialises matrices
  bool ties_embeddings = true;
  bool begins_sinusoidal = false;  // the position table, as in arXiv:1706.03762

  ModernOptions modern;              // biases, windows and rotary positions
  DecoderOptions decoder;            // decoders and encoder-decoders
  VisionOptions vision;              // models of images
  XlmOptions xlm;                    // xlm
  BagOptions bag;                    // bag_of_words
  DecomposableOptions decomposable;  // decomposable_attention

  // classification of sequences or tokens
  std::vector<std::string> labels;  // names of the classes
  bool is_regression = false;
  bool is_multi_label = false;  // each class by itself: yes or no

  // ids that config.json names; -1: none
  int64_t pad_id = 0;
  int64_t begin_id = -1;
  int64_t end_id = -1;
};

/// Numbers that a classifying head gives: classes, 1 for a plain regression, 2 for spans (begin and
/// end).
int64_t head_outputs(const ModelOptions& options);

/// G: heads of keys and values.
int64_t key_value_heads(const ModelOptions& options);
/// K: width of a head.
int64_t head_width(const ModelOptions& options);
/// H K of a layer's queries, G K of its keys and of its values.
int64_t query_width(const ModelOptions& options);
int64_t key_width(const ModelOptions& options);

/// Whether the ids beside tokens tell segments, or languages: `xlm.languages`.
bool tells_segments(const ModelOptions& options);
bool tells_languages(const ModelOptions& options);

/// E: the width of the embeddings and of what the output matrix reads.
int64_t embedding_width(const ModelOptions& options);

/// The dropout before the classifying head.
double classifier_dropout(const ModelOptions& options);

/// Rows of the position table before that of a sequence's first token: RoBERTa's begin after the
/// row of the pad id.
int64_t position_offset(const ModelOptions& options);

/// Reads `model:`. `base`: what init_from brings, which the section may only change where the
/// weights allow it (dropouts). Throws config::Error.
ModelOptions read_model_options(config::Section& section, const ModelOptions* base = nullptr);

}  // namespace weft::models
