#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/section.h"
#include "data/datasets/corruption_options.h"
#include "data/datasets/language_dataset.h"
#include "data/datasets/masking.h"
#include "data/datasets/tagged_dataset.h"
#include "data/images/image_options.h"
#include "models/config/options.h"
#include "objectives/distill_options.h"
#include "objectives/loss/class_options.h"
#include "objectives/replaced_token_options.h"
#include "objectives/seq2seq_options.h"

namespace weft::objectives {

enum class ObjectiveType {
  kMlm,
  kClassify,
  kRegress,
  kTag,
  kCausal,          // the next token
  kPrefix,          // the next token, after a prefix with bidirectional attention
  kSeq2Seq,         // a target text for a source text
  kSpanCorruption,  // T5's span corruption
  kDenoise,         // BART's denoising
  kTranslationLm,   // mlm on parallel lines
  kReplacedToken,   // ELECTRA's generator and discriminator
  kDistill,         // knowledge distillation
  kMaskedImage,     // masked patches
};

/// The `objective:` section.
struct ObjectiveOptions {
  ObjectiveType type = ObjectiveType::kMlm;
  data::MaskOptions mask;                       // mlm
  data::PairTask pair = data::PairTask::kNone;  // mlm: next_sentence, sentence_order
  ClassOptions classes;                         // classify
  double r_drop = 0;              // classify, regress: weight of R-Drop's divergence; 0: one pass
  bool label_all_tokens = false;  // tag: else only the first token of a word
  data::MaskedImageOptions masked_image;
  data::SpanCorruptionOptions span_corruption;
  data::DenoisingOptions denoise;
  DistillOptions distill;
  ReplacedTokenOptions replaced_token;
  Seq2SeqOptions seq2seq;
};

/// Throws config::Error.
ObjectiveOptions read_objective_options(config::Section& section);

std::string_view name_of(ObjectiveType type);
/// Whether predictions are for whole texts (or images): classes or numbers.
bool is_sequence_level(ObjectiveType type);
/// Whether it learns from running text, i.e. documents that are split into sequences.
bool reads_raw_text(const ObjectiveOptions& options);

/// A key of `objective:` that is incompatible with the model, and why.
struct Incompatibility {
  std::string key;
  std::string message;
};
std::optional<Incompatibility> incompatibility(const ObjectiveOptions& objective,
                                               const models::ModelOptions& model);

}  // namespace weft::objectives
