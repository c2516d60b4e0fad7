#pragma once

namespace weft::objectives {

/// What other code must know of an objective, of a model of given options.
struct ObjectiveTraits {
  bool reads_raw_text = false;     // documents of running text, split into sequences
  bool is_sequence_level = false;  // one prediction for each text of a table of labelled rows
  bool is_prefix_lm = false;       // a decoder sees the prefix in both directions
  bool records_attention = false;  // compares attention weights
};

}  // namespace weft::objectives
