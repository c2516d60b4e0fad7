#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/section.h"
#include "data/datasets/language_dataset.h"
#include "data/datasets/masking.h"
#include "data/datasets/noise_options.h"
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
  kPrefix,          // the next token, behind a prefix whose tokens all see one another
  kSeq2Seq,         // a target text for a source text
  kSpanCorruption,  // T5's noise
  kDenoise,         // BART's noises
  kTranslationLm,   // mlm on parallel lines
  kReplacedToken,   // ELECTRA's generator and discriminator
  kDistill,         // what a teacher says
  kMaskedImage,     // hidden patches
};

/// The `objective:` section.
struct ObjectiveOptions {
  ObjectiveType type = ObjectiveType::kMlm;
  data::MaskOptions mask;                       // mlm
  data::PairTask pair = data::PairTask::kNone;  // mlm: next_sentence, sentence_order
  ClassOptions classes;                         // classify
  double r_drop = 0;  // classify, regress: weight of what two passes differ by; 0: one pass
  data::LabelPieces label_pieces = data::LabelPieces::kFirst;  // tag
  data::MaskedImageOptions masked_image;
  data::SpanCorruptionOptions span_corruption;
  data::DenoiseOptions denoise;
  DistillOptions distill;
  ReplacedTokenOptions replaced_token;
  Seq2SeqOptions seq2seq;
};

/// Throws config::Error.
ObjectiveOptions read_objective_options(config::Section& section);

std::string_view word_of(ObjectiveType type);
/// Whether the answers are of whole texts (or images): classes or numbers.
bool is_of_texts(ObjectiveType type);
/// Whether it learns from running text, documents that are cut to sequences.
bool is_running_text(const ObjectiveOptions& options);
/// Whether the model's answers are tokens of the vocabulary.
bool guesses_words(const ObjectiveOptions& options);
/// Tokens that the loss looks at, as a share of all, for forecasts.
double target_share(const ObjectiveOptions& options);

/// A key of `objective:` that the model cannot serve, and why.
struct Misfit {
  std::string key;
  std::string message;
};
std::optional<Misfit> misfit(const ObjectiveOptions& objective, const models::ModelOptions& model);

}  // namespace weft::objectives
