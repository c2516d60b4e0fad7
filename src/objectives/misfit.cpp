#include <optional>
#include <string_view>

#include "base/text.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/families/baselines.h"
#include "objectives/options.h"
#include "objectives/replaced_token.h"

namespace weft::objectives {

namespace {

/// A head that an objective trains, and how its lack is said.
struct NeededHead {
  models::Head head;
  std::string_view lack;
};

/// Of what is done with texts.
std::optional<NeededHead> head_needed(const ObjectiveOptions& objective,
                                      const models::ModelOptions& model) {
  constexpr NeededHead kGuess{models::Head::kMaskedLm, "head for hidden words"};
  constexpr NeededHead kNext{models::Head::kCausalLm, "head for the next token"};
  constexpr NeededHead kClasses{models::Head::kSequence, "head for whole texts"};
  switch (objective.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kTranslationLm:
      return kGuess;
    case ObjectiveType::kCausal:
      return kNext;
    case ObjectiveType::kPrefix:
      return NeededHead{
          models::reads_source(model) ? models::Head::kConditional : models::Head::kCausalLm,
          "head for the next token, nor an encoder and decoder"};
    case ObjectiveType::kSeq2Seq:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
      return NeededHead{models::Head::kConditional, "encoder and decoder"};
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
      return kClasses;
    case ObjectiveType::kTag:
      return NeededHead{models::Head::kToken, "head for single words"};
    case ObjectiveType::kDistill:
      return objective.distill.task == DistilledTask::kMlm      ? kGuess
             : objective.distill.task == DistilledTask::kCausal ? kNext
                                                                : kClasses;
    case ObjectiveType::kReplacedToken:
    case ObjectiveType::kMaskedImage:
      break;  // see those below
  }
  return std::nullopt;
}

/// Models of images classify whole images or guess hidden patches, and no others do the latter.
std::optional<Misfit> image_misfit(const ObjectiveOptions& objective,
                                   const models::ModelOptions& model) {
  const bool is_of_images = models::reads_images(model);
  const bool guesses_pixels = objective.type == ObjectiveType::kMaskedImage;
  if (guesses_pixels && !is_of_images) {
    return Misfit{"type", text("masked_image is nothing for ", models::word_of(model.family),
                               ", which reads no images")};
  }
  const bool is_taught = objective.type == ObjectiveType::kDistill;
  if (is_of_images && is_taught && objective.distill.task != DistilledTask::kClassify) {
    return Misfit{"task", text("mlm and causal are nothing for ", models::word_of(model.family),
                               ", which reads images: allowed is classify")};
  }
  if (is_of_images && !guesses_pixels && !is_taught && objective.type != ObjectiveType::kClassify) {
    return Misfit{"type",
                  text(word_of(objective.type), " is nothing for ", models::word_of(model.family),
                       ", which reads images: allowed is classify, distill, masked_image")};
  }
  if (is_of_images && objective.classes.multi_label) {
    return Misfit{"multi_label", "true, but an image has one class, allowed is false"};
  }
  return std::nullopt;
}

/// Replaced tokens are found by a discriminator, and its generator must be a model.
std::optional<Misfit> generator_misfit(const ObjectiveOptions& objective,
                                       const models::ModelOptions& model) {
  if (objective.type != ObjectiveType::kReplacedToken) {
    return std::nullopt;
  }
  if (!models::has_head(model.family, models::Head::kReplacedToken)) {
    return Misfit{"type", text("replaced_token is nothing for ", models::word_of(model.family),
                               ", which has no discriminator: allowed with model.type: electra")};
  }
  const auto generator = generator_options(objective.replaced_token.generator, model);
  if (generator.dim % generator.heads != 0) {
    return Misfit{"generator", text("dim ", generator.dim, " with ", generator.heads,
                                    " heads, must be a multiple of them")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Misfit> misfit(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  if (models::is_baseline(model.family) && !is_of_texts(objective.type)) {
    return Misfit{"type",
                  text(word_of(objective.type), " is nothing for ", models::word_of(model.family),
                       ", which answers for whole texts: allowed is classify, regress")};
  }
  if (const auto wrong = image_misfit(objective, model)) {
    return wrong;
  }
  if (const auto wrong = generator_misfit(objective, model)) {
    return wrong;
  }
  const auto needed = models::reads_images(model) ? std::nullopt : head_needed(objective, model);
  if (needed && !models::has_head(model.family, needed->head)) {
    return Misfit{"type", text(word_of(objective.type), " is nothing for ",
                               models::word_of(model.family), ", which has no ", needed->lack)};
  }
  if (needed && needed->head == models::Head::kSequence && model.family == models::Family::kMbart) {
    return Misfit{"type",
                  text(word_of(objective.type),
                       " is nothing for mbart: its head for whole texts wants the end of the text "
                       "last, where its tokenizer puts the language")};
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
