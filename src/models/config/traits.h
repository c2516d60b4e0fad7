#pragma once

#include <optional>

#include "kernels/activation_kind.h"
#include "models/config/options.h"

namespace weft::models {

/// What a family computes otherwise than BERT.
struct FamilyTraits {
  bool has_pooler = true;          // the bare model pools the first token
  bool classifies_pooled = false;  // and the classifier of sequences reads it
  bool has_segments = true;
  bool tells_languages = false;      // by what others tell segments; untold, they add nothing
  bool restarts_positions = false;   // where a translation follows its text in one sequence
  bool counts_from_pad = false;      // positions begin after the row of the pad id
  bool projects_embeddings = false;  // they may be narrower than the stack
  bool has_own_dropouts = false;     // heads do not go by `dropout`
  bool has_fixed_epsilon = false;    // config.json has no key for it
  /// Of the layer that a classifier of sequences brings; nothing: it has none.
  std::optional<kernels::Activation> classifier_activation = {};
  bool drops_first = true;      // there is dropout before that layer too
  bool has_guess_layer = true;  // the head that guesses tokens transforms the hidden state
  /// Of that head; nothing: as in the stack.
  std::optional<kernels::Activation> guess_activation = {};
};

const FamilyTraits& traits_of(Family family);

}  // namespace weft::models
