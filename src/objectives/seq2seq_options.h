#pragma once

#include <string>

#include "config/section.h"

namespace weft::objectives {

/// Of an objective of type seq2seq.
struct Seq2SeqOptions {
  double label_smoothing = 0;
  std::string prefix = {};  // before every source text
  /// Tokens of the languages (mBART); empty: the tokenizer's own.
  std::string source_language = {};
  std::string target_language = {};
};

/// Reads the keys of the type, all but `label_smoothing`, which classify has too.
void read_seq2seq_options(config::Section& section, Seq2SeqOptions& options);

}  // namespace weft::objectives
