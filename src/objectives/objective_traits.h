#pragma once

#include <cstdint>

namespace weft::objectives {

/// Tokens whose last hidden states a loss reads.
enum class StatesRead {
  kAll,
  kTargets,
  kSequences,            // one state for each sequence
  kTargetsAndSequences,  // both
};

/// What other code must know of an objective, of a model of given options.
struct ObjectiveTraits {
  bool reads_raw_text = false;     // documents of running text, split into sequences
  bool predicts_tokens = false;    // of the vocabulary
  bool is_sequence_level = false;  // one prediction for each text of a table of labelled rows
  bool is_prefix_lm = false;       // a decoder sees the prefix in both directions
  double target_fraction = 1;      // of the tokens, for estimates
  StatesRead states_read = StatesRead::kAll;
  int64_t passes = 1;           // forward passes of each batch
  int64_t recorded_layers = 0;  // layers whose attention is recorded
};

}  // namespace weft::objectives
