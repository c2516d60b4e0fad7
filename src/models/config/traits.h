#pragma once

#include <optional>

#include "kernels/activation.h"
#include "models/config/options.h"

namespace weft::models {

/// Differences of a family's computation from BERT.
struct FamilyCapabilities {
  bool has_pooler = true;               // the bare model pools the first token
  bool classifier_uses_pooler = false;  // and the sequence classifier reads it
  bool has_segments = true;
  bool has_language_ids = false;  // replace segment ids; without ids nothing is added
  bool resets_positions = false;  // where a translation follows its source in one sequence
  bool positions_start_after_pad_id = false;  // positions start after the row of the pad id
  bool has_embedding_projection = false;      // embeddings may be narrower than the stack
  bool has_separate_head_dropouts = false;    // heads do not use `dropout`
  bool has_fixed_epsilon = false;             // config.json has no key for it
  /// Activation of the hidden layer of sequence classifiers; nullopt: no such layer.
  std::optional<kernels::Activation> classifier_activation = {};
  bool has_classifier_input_dropout = true;  // dropout before that layer, too
  bool has_mlm_transform = true;             // the MLM head transforms the hidden state
  /// Activation of that transform; nullopt: as in the stack.
  std::optional<kernels::Activation> mlm_activation = {};
  /// Every head starts with a dense layer, the activation head_activation and a norm.
  bool has_prediction_head = false;
  bool has_first_norm = true;            // before the attention of the first layer, if pre-norm
  bool has_sublayer_dropout = true;      // else the attention's output uses the attention rate
  bool has_language_tokens = false;      // the decoder starts with the language token of its text
  bool decoder_starts_with_eos = false;  // else with the padding token
  bool has_matrix_products = true;
  bool requires_text_pairs = false;  // compares two texts
};

const FamilyCapabilities& capabilities_of(Family family);

}  // namespace weft::models
