#include "objectives/options.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/string_util.h"
#include "objectives/corruption_options.h"
#include "objectives/distill.h"
#include "objectives/masked_image.h"
#include "objectives/replaced_token.h"

namespace weft::objectives {

namespace {

using config::Section;

constexpr std::string_view kOnlyMlm = "type: mlm";
constexpr std::string_view kOnlyMasks = "type: mlm, translation_lm, replaced_token or distill";
constexpr config::Range kObjectiveShare = {.min = 0, .max = 1};

const config::Choices<ObjectiveType>& types() {
  static const config::Choices<ObjectiveType> kTypes = {
      {"mlm", ObjectiveType::kMlm},
      {"classify", ObjectiveType::kClassify},
      {"regress", ObjectiveType::kRegress},
      {"tag", ObjectiveType::kTag},
      {"seq2seq", ObjectiveType::kSeq2Seq},
      {"causal", ObjectiveType::kCausal},
      {"prefix_lm", ObjectiveType::kPrefix},
      {"span_corruption", ObjectiveType::kSpanCorruption},
      {"denoise", ObjectiveType::kDenoise},
      {"translation_lm", ObjectiveType::kTranslationLm},
      {"distill", ObjectiveType::kDistill},
      {"masked_image", ObjectiveType::kMaskedImage},
      {"replaced_token", ObjectiveType::kReplacedToken},
  };
  return kTypes;
}

const std::vector<std::string_view>& mask_keys() {
  static const std::vector<std::string_view> kKeys = {
      "mask_fraction", "mask_token_prob", "random_token_prob", "mask_unit",
      "mean_span",     "max_span",        "static_masking"};
  return kKeys;
}

/// Keys that belong to one type, for rejecting them by name under another.
struct OwnKeys {
  ObjectiveType type;
  std::vector<std::string_view> keys;
};
const std::vector<OwnKeys>& own_keys() {
  static const std::vector<OwnKeys> kKeys = {
      {ObjectiveType::kMlm, mask_keys()},
      {ObjectiveType::kMlm, {"next_sentence", "sentence_order"}},
      {ObjectiveType::kTranslationLm, mask_keys()},
      {ObjectiveType::kReplacedToken, mask_keys()},
      {ObjectiveType::kReplacedToken, {"discriminator_weight", "generator"}},
      {ObjectiveType::kDistill, mask_keys()},
      {ObjectiveType::kSpanCorruption, {"noise_density", "mean_noise_span_length"}},
      {ObjectiveType::kMaskedImage, {"mask_ratio", "mask_block_size"}},
      {ObjectiveType::kDenoise,
       {"permute_sentences", "rotate", "infill_fraction", "poisson_lambda", "delete_fraction",
        "token_mask_fraction"}},
      {ObjectiveType::kClassify,
       {"label_smoothing", "multi_label", "class_weights", "focal_gamma", "threshold",
        "tune_threshold"}},
      {ObjectiveType::kDistill,
       {"student_objective", "teacher", "temperature", "alpha_kd", "alpha_ce", "alpha_cos",
        "alpha_attention", "layer_map", "distillation_type", "label_smoothing"}},
      {ObjectiveType::kTag, {"label_all_tokens"}},
      {ObjectiveType::kSeq2Seq,
       {"label_smoothing", "source_prefix", "source_language", "target_language"}},
  };
  return kKeys;
}

bool has_key(ObjectiveType type, std::string_view key) {
  return std::any_of(own_keys().begin(), own_keys().end(), [&](const auto& own) {
    return own.type == type && std::find(own.keys.begin(), own.keys.end(), key) != own.keys.end();
  });
}

void refuse_foreign_keys(const Section& section, ObjectiveType type) {
  for (const auto& own : own_keys()) {
    for (const auto key : own.keys) {
      if (!has_key(type, key) && section.has(key)) {
        section.fail(key, str_cat("belongs to objectives of type ", name_of(own.type),
                                  ", this one is ", name_of(type)));
      }
    }
  }
}

void read_spans(Section& section, data::MaskOptions& mask) {
  section.read("mean_span", mask.mean_span,
               {.help = "Mean length of masked spans (geometric).",
                .unit = "words",
                .range = config::between(1, 100),
                .only_if = "mask_unit: span"});
  section.read("max_span", mask.max_span,
               {.help = "Longest masked span.",
                .unit = "words",
                .range = config::between(1, 1000),
                .only_if = "mask_unit: span"});
  const data::MaskOptions plain;
  if (mask.unit != data::MaskUnit::kSpan && mask.mean_span != plain.mean_span) {
    section.fail("mean_span", "has no effect here, only with mask_unit: span");
  }
  if (mask.unit != data::MaskUnit::kSpan && mask.max_span != plain.max_span) {
    section.fail("max_span", "has no effect here, only with mask_unit: span");
  }
}

void read_mask(Section& section, data::MaskOptions& mask) {
  static const config::Choices<data::MaskUnit> kUnits = {{"token", data::MaskUnit::kToken},
                                                         {"word", data::MaskUnit::kWord},
                                                         {"span", data::MaskUnit::kSpan}};
  section.read(
      "mask_fraction", mask.fraction,
      {.help = "Share of a sequence's tokens that are to be guessed; special ones do not count.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true},
       .only_if = kOnlyMasks});
  section.read("mask_token_prob", mask.mask_token_prob,
               {.help = "Of the tokens to be guessed, the share replaced by the mask token; of "
                        "replaced_token all, where it is not given.",
                .range = kObjectiveShare,
                .only_if = kOnlyMasks});
  section.read("random_token_prob", mask.random_token_prob,
               {.help = "Of the tokens to be guessed, the share replaced by random ones (of "
                        "replaced_token none, where it is not given); the rest stay as they are.",
                .range = kObjectiveShare,
                .only_if = kOnlyMasks});
  if (mask.mask_token_prob + mask.random_token_prob > 1.0 + 1e-9) {
    section.fail("random_token_prob", str_cat(mask.random_token_prob, " and mask_token_prob ",
                                              mask.mask_token_prob, " are more than 1 together"));
  }
  section.read_choice(
      "mask_unit", mask.unit, kUnits,
      {.help = "What is masked as one: single tokens, whole words, or spans of words.",
       .only_if = kOnlyMasks});
  read_spans(section, mask);
  section.read("static_masking", mask.is_static,
               {.help = "Whether every epoch masks the same tokens.", .only_if = kOnlyMasks});
}

data::PairTask read_pair(Section& section) {
  bool has_next = false;
  bool has_order = false;
  section.read("next_sentence", has_next,
               {.help = "Whether the model also tells if the second text follows the first (BERT).",
                .only_if = kOnlyMlm});
  section.read("sentence_order", has_order,
               {.help = "Whether the model also tells if two texts stand in their order (ALBERT).",
                .only_if = kOnlyMlm});
  if (has_next && has_order) {
    section.fail("sentence_order",
                 "true together with next_sentence: true, only one of the two is allowed");
  }
  return has_next    ? data::PairTask::kNextSentence
         : has_order ? data::PairTask::kSentenceOrder
                     : data::PairTask::kNone;
}

void read_r_drop(Section& section, ObjectiveOptions& options) {
  constexpr std::string_view kOnly = "type: classify or regress";
  if (!section.is_documenting() && !is_sequence_level(options.type)) {
    if (section.has("r_drop")) {
      section.fail("r_drop", str_cat("does not go with this type, only with ", kOnly));
    }
    return;
  }
  section.read("r_drop", options.r_drop,
               {.help = "R-Drop (arXiv:2106.14448): every text passes twice under other dropout, "
                        "and this times what the outputs differ by (symmetric divergence; squared "
                        "distance of numbers) joins the loss; 0: one pass.",
                .range = config::at_least(0),
                .only_if = kOnly});
}

bool has_masks(const ObjectiveOptions& options) {
  const bool is_distilled = options.type == ObjectiveType::kDistill &&
                            options.distill.student_objective == StudentObjective::kMlm;
  return options.type == ObjectiveType::kMlm || options.type == ObjectiveType::kTranslationLm ||
         options.type == ObjectiveType::kReplacedToken || is_distilled;
}

/// Reads the keys for running text.
void read_text_keys(Section& section, ObjectiveOptions& options) {
  const bool shows_all = section.is_documenting();
  if (options.type == ObjectiveType::kReplacedToken) {  // mask all: arXiv:2003.10555, section 2
    options.mask.mask_token_prob = 1;
    options.mask.random_token_prob = 0;
  }
  if (shows_all || has_masks(options)) {
    read_mask(section, options.mask);
  }
  if (shows_all || options.type == ObjectiveType::kReplacedToken) {
    read_replaced_token(section, options.replaced_token);
  }
  if (shows_all || options.type == ObjectiveType::kMlm) {
    options.pair = read_pair(section);
  }
  if (shows_all || options.type == ObjectiveType::kSpanCorruption) {
    read_span_corruption(section, options.span_corruption);
  }
  if (shows_all || options.type == ObjectiveType::kDenoise) {
    read_denoising(section, options.denoise);
  }
}

}  // namespace

std::string_view name_of(ObjectiveType type) {
  for (const auto& [word, value] : types()) {
    if (value == type) {
      return word;
    }
  }
  return "";
}

bool is_sequence_level(ObjectiveType type) {
  return type == ObjectiveType::kClassify || type == ObjectiveType::kRegress;
}

ObjectiveOptions read_objective_options(Section& section) {
  ObjectiveOptions options;
  section.read_choice(
      "type", options.type, types(),
      {.help = "What the model learns: mlm (guess hidden tokens), classify (texts), regress (a "
               "number for a text), tag (words: named entities, parts of speech), seq2seq (a text "
               "for a text), causal (the next token), prefix_lm (the rest of a text, or the target "
               "of a pair, behind what is seen both ways), span_corruption (T5's noise), denoise "
               "(BART's), translation_lm (mlm on parallel lines), replaced_token (ELECTRA: which "
               "tokens a small generator put there), distill (what a teacher says).",
       .is_required = true});
  const bool shows_all = section.is_documenting();
  if (!shows_all) {
    refuse_foreign_keys(section, options.type);
  }
  if (options.type == ObjectiveType::kDistill || shows_all) {
    read_distill_options(section, options.distill);
  }
  read_text_keys(section, options);
  if (shows_all || options.type == ObjectiveType::kClassify) {
    options.classes = read_class_options(section);
  }
  if (shows_all || options.type == ObjectiveType::kSeq2Seq) {
    if (!shows_all) {
      read_label_smoothing(section, options.seq2seq.label_smoothing);
    }
    read_seq2seq_options(section, options.seq2seq);
  }
  if (shows_all || options.type == ObjectiveType::kMaskedImage) {
    read_masked_image(section, options.masked_image);
  }
  if (shows_all || options.type == ObjectiveType::kTag) {
    section.read("label_all_tokens", options.label_all_tokens,
                 {.help = "Whether every token of a word is labelled in training, or the first "
                          "alone (I-X after the first of B-X). Metrics are of words: there it "
                          "is the first.",
                  .only_if = "type: tag"});
  }
  read_r_drop(section, options);
  section.reject_unread();
  return options;
}

}  // namespace weft::objectives
