#include "objectives/options.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "models/baseline_config.h"
#include "models/family.h"

namespace weft::objectives {

namespace {

using config::Section;

constexpr std::string_view kOnlyMlm = "type: mlm";
constexpr config::Range kShare = {.min = 0, .max = 1};

const config::Choices<ObjectiveType>& types() {
  static const config::Choices<ObjectiveType> kTypes = {
      {"mlm", ObjectiveType::kMlm},
      {"classify", ObjectiveType::kClassify},
      {"regress", ObjectiveType::kRegress},
      {"tag", ObjectiveType::kTag},
  };
  return kTypes;
}

/// The keys that belong to one type alone, for refusing them by name under another.
struct OwnKeys {
  ObjectiveType type;
  std::vector<std::string_view> keys;
};
const std::vector<OwnKeys>& own_keys() {
  static const std::vector<OwnKeys> kKeys = {
      {ObjectiveType::kMlm,
       {"mask_fraction", "mask_share", "random_share", "mask_unit", "span_mean", "span_longest",
        "static_masks", "next_sentence", "sentence_order"}},
      {ObjectiveType::kClassify,
       {"label_smoothing", "multi_label", "class_weights", "focal_gamma", "threshold",
        "tune_threshold"}},
      {ObjectiveType::kTag, {"label_pieces"}},
  };
  return kKeys;
}

void refuse_foreign_keys(const Section& section, ObjectiveType type) {
  for (const auto& own : own_keys()) {
    for (const auto key : own.keys) {
      if (own.type != type && section.has(key)) {
        section.fail(key, text("belongs to objectives of type ", word_of(own.type),
                               ", this one is ", word_of(type)));
      }
    }
  }
}

void read_spans(Section& section, data::MaskOptions& mask) {
  section.read("span_mean", mask.span_mean,
               {.help = "Mean length of masked spans (geometric).",
                .unit = "words",
                .range = config::between(1, 100),
                .only = "mask_unit: span"});
  section.read("span_longest", mask.span_longest,
               {.help = "Longest masked span.",
                .unit = "words",
                .range = config::between(1, 1000),
                .only = "mask_unit: span"});
  const data::MaskOptions plain;
  if (mask.unit != data::MaskUnit::kSpan && mask.span_mean != plain.span_mean) {
    section.fail("span_mean", "has no effect here, only with mask_unit: span");
  }
  if (mask.unit != data::MaskUnit::kSpan && mask.span_longest != plain.span_longest) {
    section.fail("span_longest", "has no effect here, only with mask_unit: span");
  }
}

void read_mask(Section& section, data::MaskOptions& mask) {
  static const config::Choices<data::MaskUnit> kUnits = {{"token", data::MaskUnit::kToken},
                                                         {"word", data::MaskUnit::kWord},
                                                         {"span", data::MaskUnit::kSpan}};
  section.read(
      "mask_fraction", mask.fraction,
      {.help = "Share of a sequence's tokens that are to be guessed; special ones do not count.",
       .range = {.min = 0, .max = 1, .excludes_min = true},
       .only = kOnlyMlm});
  section.read("mask_share", mask.mask_share,
               {.help = "Of the tokens to be guessed, the share replaced by the mask token.",
                .range = kShare,
                .only = kOnlyMlm});
  section.read("random_share", mask.random_share,
               {.help = "Of the tokens to be guessed, the share replaced by random ones; the rest "
                        "stay as they are.",
                .range = kShare,
                .only = kOnlyMlm});
  if (mask.mask_share + mask.random_share > 1.0 + 1e-9) {
    section.fail("random_share", text(mask.random_share, " and mask_share ", mask.mask_share,
                                      " are more than 1 together"));
  }
  section.read_choice(
      "mask_unit", mask.unit, kUnits,
      {.help = "What is masked as one: single tokens, whole words, or spans of words.",
       .only = kOnlyMlm});
  read_spans(section, mask);
  section.read("static_masks", mask.is_static,
               {.help = "Whether every epoch masks the same tokens.", .only = kOnlyMlm});
}

data::PairTask read_pair(Section& section) {
  bool has_next = false;
  bool has_order = false;
  section.read("next_sentence", has_next,
               {.help = "Whether the model also tells if the second text follows the first (BERT).",
                .only = kOnlyMlm});
  section.read("sentence_order", has_order,
               {.help = "Whether the model also tells if two texts stand in their order (ALBERT).",
                .only = kOnlyMlm});
  if (has_next && has_order) {
    section.fail("sentence_order",
                 "true together with next_sentence: true, only one of the two is allowed");
  }
  return has_next    ? data::PairTask::kNextSentence
         : has_order ? data::PairTask::kSentenceOrder
                     : data::PairTask::kNone;
}

bool is_of_texts(ObjectiveType type) {
  return type == ObjectiveType::kClassify || type == ObjectiveType::kRegress;
}

void read_r_drop(Section& section, ObjectiveOptions& options) {
  constexpr std::string_view kOnly = "type: classify or regress";
  if (!section.is_describing() && !is_of_texts(options.type)) {
    if (section.has("r_drop")) {
      section.fail("r_drop", text("does not go with this type, only with ", kOnly));
    }
    return;
  }
  section.read("r_drop", options.r_drop,
               {.help = "R-Drop (arXiv:2106.14448): every text passes twice under other dropout, "
                        "and this times what the outputs differ by (symmetric divergence; squared "
                        "distance of numbers) joins the loss; 0: one pass.",
                .range = config::at_least(0),
                .only = kOnly});
}

}  // namespace

std::string_view word_of(ObjectiveType type) {
  for (const auto& [word, value] : types()) {
    if (value == type) {
      return word;
    }
  }
  return "";
}

ObjectiveOptions read_objective_options(Section& section) {
  ObjectiveOptions options;
  section.read_choice(
      "type", options.type, types(),
      {.help = "What the model learns: mlm (guess hidden tokens), classify "
               "(texts), regress (a number for a text), tag (words: named entities, parts of "
               "speech).",
       .is_required = true});
  const bool shows_all = section.is_describing();
  if (!shows_all) {
    refuse_foreign_keys(section, options.type);
  }
  if (shows_all || options.type == ObjectiveType::kMlm) {
    read_mask(section, options.mask);
    options.pair = read_pair(section);
  }
  if (shows_all || options.type == ObjectiveType::kClassify) {
    options.classes = read_class_options(section);
  }
  if (shows_all || options.type == ObjectiveType::kTag) {
    static const config::Choices<data::LabelPieces> kPieces = {{"first", data::LabelPieces::kFirst},
                                                               {"all", data::LabelPieces::kAll}};
    section.read_choice("label_pieces", options.label_pieces, kPieces,
                        {.help = "Which pieces of a word bear its tag in training: the first, or "
                                 "all (I-X after the first of B-X). Figures are of words: there it "
                                 "is the first.",
                         .only = "type: tag"});
  }
  read_r_drop(section, options);
  section.reject_unread();
  return options;
}

std::optional<Misfit> misfit(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  if (models::is_baseline(model.family) && !is_of_texts(objective.type)) {
    return Misfit{"type",
                  text(word_of(objective.type), " is nothing for ", models::word_of(model.family),
                       ", which answers for whole texts: allowed is classify, regress")};
  }
  const bool drops = model.dropout > 0 || model.attention_dropout > 0 ||
                     model.head_dropout.value_or(model.dropout) > 0;
  if (objective.r_drop > 0 && !drops) {
    return Misfit{"r_drop", "compares passes under other dropout, but the model has none"};
  }
  if (objective.type != ObjectiveType::kMlm || objective.pair == data::PairTask::kNone) {
    return std::nullopt;
  }
  const auto* key =
      objective.pair == data::PairTask::kNextSentence ? "next_sentence" : "sentence_order";
  if (!models::has_head(model.family, models::Head::kPretraining)) {
    return Misfit{key, text("true, but ", models::word_of(model.family),
                            " has no head for pairs of texts, allowed is false")};
  }
  return std::nullopt;
}

}  // namespace weft::objectives
