#pragma once

#include <string>

#include "config/section.h"

namespace weft::objectives {

/// Options of type seq2seq.
struct Seq2SeqOptions {
  double label_smoothing = 0;
  std::string prefix = {};  // prepended to every source text
  /// Language tokens (mBART); empty: the tokenizer's default.
  std::string source_language = {};
  std::string target_language = {};
};

/// Reads the keys of the type except `label_smoothing`, which classify has too.
void read_seq2seq_options(config::Section& section, Seq2SeqOptions& options);

}  // namespace weft::objectives
