#include <optional>
#include <string_view>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/families/baselines.h"
#include "objectives/options.h"
#include "objectives/replaced_token.h"

namespace weft::objectives {

namespace {

/// A head that an objective trains, and its name in messages.
struct RequiredHead {
  models::Head head;
  std::string_view description;
};

/// For text objectives.
std::optional<RequiredHead> required_head(const ObjectiveOptions& objective,
                                          const models::ModelOptions& model) {
  constexpr RequiredHead kMlmHead{models::Head::kMaskedLm, "head for hidden words"};
  constexpr RequiredHead kCausalHead{models::Head::kCausalLm, "head for the next token"};
  constexpr RequiredHead kSequenceHead{models::Head::kSequence, "head for whole texts"};
  switch (objective.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kTranslationLm:
      return kMlmHead;
    case ObjectiveType::kCausal:
      return kCausalHead;
    case ObjectiveType::kPrefix:
      return RequiredHead{
          models::is_encoder_decoder(model) ? models::Head::kConditional : models::Head::kCausalLm,
          "head for the next token, nor an encoder and decoder"};
    case ObjectiveType::kSeq2Seq:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
      return RequiredHead{models::Head::kConditional, "encoder and decoder"};
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
      return kSequenceHead;
    case ObjectiveType::kTag:
      return RequiredHead{models::Head::kToken, "head for single words"};
    case ObjectiveType::kDistill:
      return objective.distill.student_objective == StudentObjective::kMlm      ? kMlmHead
             : objective.distill.student_objective == StudentObjective::kCausal ? kCausalHead
                                                                                : kSequenceHead;
    case ObjectiveType::kReplacedToken:
    case ObjectiveType::kMaskedImage:
      break;  // see image_incompatibility()
  }
  return std::nullopt;
}

/// Image models only classify images or predict masked patches; no other models do the latter.
std::optional<Incompatibility> image_incompatibility(const ObjectiveOptions& objective,
                                                     const models::ModelOptions& model) {
  const bool is_of_images = models::reads_images(model);
  const bool predicts_pixels = objective.type == ObjectiveType::kMaskedImage;
  if (predicts_pixels && !is_of_images) {
    return Incompatibility{"type",
                           str_cat("masked_image is nothing for ", models::word_of(model.family),
                                   ", which reads no images")};
  }
  const bool is_distilled = objective.type == ObjectiveType::kDistill;
  if (is_of_images && is_distilled &&
      objective.distill.student_objective != StudentObjective::kClassify) {
    return Incompatibility{"student_objective",
                           str_cat("mlm and causal are nothing for ", models::word_of(model.family),
                                   ", which reads images: allowed is classify")};
  }
  if (is_of_images && !predicts_pixels && !is_distilled &&
      objective.type != ObjectiveType::kClassify) {
    return Incompatibility{
        "type", str_cat(name_of(objective.type), " is nothing for ", models::word_of(model.family),
                        ", which reads images: allowed is classify, distill, masked_image")};
  }
  if (is_of_images && objective.classes.multi_label) {
    return Incompatibility{"multi_label", "true, but an image has one class, allowed is false"};
  }
  return std::nullopt;
}

/// replaced_token needs a discriminator, and its generator must be a valid model.
std::optional<Incompatibility> generator_incompatibility(const ObjectiveOptions& objective,
                                                         const models::ModelOptions& model) {
  if (objective.type != ObjectiveType::kReplacedToken) {
    return std::nullopt;
  }
  if (!models::has_head(model.family, models::Head::kReplacedToken)) {
    return Incompatibility{
        "type", str_cat("replaced_token is nothing for ", models::word_of(model.family),
                        ", which has no discriminator: allowed with model.type: electra")};
  }
  const auto generator = generator_options(objective.replaced_token.generator, model);
  if (generator.dim % generator.heads != 0) {
    return Incompatibility{"generator", str_cat("dim ", generator.dim, " with ", generator.heads,
                                                " heads, must be a multiple of them")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Incompatibility> incompatibility(const ObjectiveOptions& objective,
                                               const models::ModelOptions& model) {
  if (models::is_baseline(model.family) && !is_sequence_level(objective.type)) {
    return Incompatibility{
        "type", str_cat(name_of(objective.type), " is nothing for ", models::word_of(model.family),
                        ", which answers for whole texts: allowed is classify, regress")};
  }
  if (const auto wrong = image_incompatibility(objective, model)) {
    return wrong;
  }
  if (const auto wrong = generator_incompatibility(objective, model)) {
    return wrong;
  }
  const auto required =
      models::reads_images(model) ? std::nullopt : required_head(objective, model);
  if (required && !models::has_head(model.family, required->head)) {
    return Incompatibility{
        "type", str_cat(name_of(objective.type), " is nothing for ", models::word_of(model.family),
                        ", which has no ", required->description)};
  }
  if (required && required->head == models::Head::kSequence &&
      model.family == models::Family::kMbart) {
    return Incompatibility{
        "type", str_cat(name_of(objective.type),
                        " is nothing for mbart: its head for whole texts wants the end of the text "
                        "last, where its tokenizer puts the language")};
  }
  const bool drops = model.dropout > 0 || model.attention_dropout > 0 ||
                     model.classifier_dropout.value_or(model.dropout) > 0;
  if (objective.r_drop > 0 && !drops) {
    return Incompatibility{"r_drop", "compares passes under other dropout, but the model has none"};
  }
  if (objective.type != ObjectiveType::kMlm || objective.pair == data::PairTask::kNone) {
    return std::nullopt;
  }
  const auto* key =
      objective.pair == data::PairTask::kNextSentence ? "next_sentence" : "sentence_order";
  if (!models::has_head(model.family, models::Head::kPretraining)) {
    return Incompatibility{key, str_cat("true, but ", models::word_of(model.family),
                                        " has no head for pairs of texts, allowed is false")};
  }
  return std::nullopt;
}

}  // namespace weft::objectives
