#pragma once

#include <memory>
#include <string>

#include "config/section.h"
#include "objectives/data/text_datasets.h"
#include "objectives/objective.h"

namespace weft::objectives {

struct Seq2SeqOptions {
  double label_smoothing = 0;
  PairOptions pairs = {};
};

/// Type seq2seq: a target text for a source text (conditional_lm.h), of pairs of texts.
std::unique_ptr<Objective> make_seq2seq(const Seq2SeqOptions& options = {});
std::unique_ptr<Objective> read_seq2seq(config::Section& section);

}  // namespace weft::objectives
