#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"
#include "kernels/activation.h"
#include "models/config/options.h"

namespace weft::models {

/// Hugging Face names of a family with one norm placement.
struct HfNames {
  NormPlacement norm_placement;
  std::string_view model_type;    // in config.json
  std::string_view prefix;        // of the backbone's tensors
  std::string_view class_prefix;  // prefix of the names in `architectures`
};

/// Name of a head in `architectures`. Of several names of one head the first is written; the others
/// are only read.
struct HfHeadName {
  Head head;
  std::string_view class_suffix;
};

/// Differences of a family's computation from BERT.
struct FamilyCapabilities {
  bool has_pooler = true;               // the bare model pools the first token
  bool keeps_pooler = false;            // and all heads have that layer, though they do not use it
  bool classifier_uses_pooler = false;  // and the sequence classifier reads it
  bool has_segments = true;
  bool has_language_ids = false;  // replace segment ids; without ids nothing is added
  bool resets_positions = false;  // where a translation follows its source in one sequence
  bool positions_start_after_pad_id = false;  // positions start after the row of the pad id
  int64_t first_position = 0;  // otherwise, where the table starts with rows for the pad id
  bool has_embedding_projection = false;    // embeddings may be narrower than the stack
  bool has_separate_head_dropouts = false;  // heads do not use `dropout`
  bool has_fixed_epsilon = false;           // config.json has no key for it
  /// Activation of the hidden layer of sequence classifiers; nullopt: no such layer.
  std::optional<kernels::Activation> classifier_activation = {};
  bool classifier_uses_stack_activation = false;  // instead, in that layer
  bool has_classifier_input_dropout = true;       // dropout before that layer, too
  bool has_mlm_transform = true;                  // the MLM head transforms the hidden state
  /// Activation of that transform; nullopt: as in the stack.
  std::optional<kernels::Activation> mlm_activation = {};
  /// Every head starts with a dense layer, the activation head_activation and a norm.
  bool has_prediction_head = false;
  bool has_layer_blocks = false;         // blocks of layers that shorten texts (funnel)
  bool has_first_norm = true;            // before the attention of the first layer, if pre-norm
  bool has_key_bias = true;              // else only queries and values have one (deberta)
  bool has_scaled_scores = true;         // else the initial values contain the scale (T5)
  bool has_logits_bias = false;          // a fixed bias of the output logits
  bool has_output_dropout = false;       // on the states of encoder and decoder
  bool forces_eos = false;               // at the maximum length
  bool has_sublayer_dropout = true;      // else the attention's output uses the attention rate
  bool has_feed_forward_dropout = true;  // on the output of the feed-forward
  bool has_language_tokens = false;      // the decoder starts with the language token of its text
  bool decoder_starts_with_eos = false;  // else with the padding token
  bool has_matrix_products = true;
  bool has_layer_kinds = false;           // layers have one of two types of attention
  bool has_stream_concatenation = false;  // layers are reversible; states are both streams (2 D)
  /// Of train.optimizer, with 32 sequences per step, for every task; nullopt: both by the task.
  std::optional<double> default_lr = {};
  bool has_class_output = false;     // `model.output` predicts its classes
  bool requires_text_pairs = false;  // compares two texts
  bool is_counted = false;           // Model::fit is all of its training: it has no parameters
};

/// All families, built-in ones first, with their values of `model.type`.
config::Choices<Family> families();
std::string_view word_of(Family family);
const FamilyCapabilities& capabilities_of(Family family);
/// Sizes and rates without a preset.
ModelOptions family_defaults(Family family);

/// Heads of a family, with their names.
const std::vector<HfHeadName>& heads_of(Family family);
bool has_head(Family family, Head head);
/// The head of a model with the same hidden states.
Head bare_head(const ModelOptions& options);
bool has_norm_placement(Family family, NormPlacement place);

const HfNames& hf_names_of(const ModelOptions& options);
/// All names, in the order of the families.
std::vector<std::pair<Family, HfNames>> all_hf_names();
/// `BertForMaskedLM`.
std::string architecture_of(const ModelOptions& options);
/// Whether transformers has a class that computes the same.
bool is_known_to_transformers(const ModelOptions& options);

/// Properties of the definitions of family and head.
bool generates(const ModelOptions& options);           // has a head that generates left to right
bool is_encoder_decoder(const ModelOptions& options);  // is an encoder-decoder
bool reads_images(const ModelOptions& options);
bool is_baseline(Family family);

/// Values of `norm.place`.
const config::Choices<NormPlacement>& norm_placements();

/// Names of activations in configs of Weft, and in config.json.
const config::Choices<kernels::Activation>& activations();
std::string_view hf_activation_name(kernels::Activation activation);
const std::vector<std::pair<std::string_view, kernels::Activation>>& hf_activation_names();

}  // namespace weft::models
