#include "objectives/data/raw_text_datasets.h"

#include "batching/token_type_ids.h"
#include "data/datasets/causal_dataset.h"
#include "data/datasets/corruption_dataset.h"
#include "data/datasets/prefix_dataset.h"
#include "data/datasets/translation_dataset.h"
#include "models/config/family_definition.h"
#include "models/config/traits.h"

namespace weft::objectives {

namespace {

std::unique_ptr<data::Corruption> make_corruption(const ObjectiveOptions& objective,
                                                  const models::ModelOptions& model,
                                                  const data::Tokenizer& tokenizer,
                                                  int64_t length) {
  const int64_t start =
      model.decoder.decoder_start_id >= 0 ? model.decoder.decoder_start_id : model.pad_id;
  if (objective.type == ObjectiveType::kSpanCorruption) {
    return data::make_span_corruption(tokenizer, objective.span_corruption, start, length);
  }
  if (objective.type == ObjectiveType::kDenoise) {
    return data::make_denoising(tokenizer, objective.denoise, start);
  }
  return data::make_prefix_split(tokenizer, start);
}

bool is_causal(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  return objective.type == ObjectiveType::kCausal || is_decoder_prefix_lm(objective, model) ||
         (objective.type == ObjectiveType::kDistill &&
          objective.distill.student_objective == StudentObjective::kCausal);
}

}  // namespace

bool is_decoder_prefix_lm(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  return objective.type == ObjectiveType::kPrefix && !models::is_encoder_decoder(model);
}

Datasets raw_text_datasets(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           const RawTextSettings& settings,
                           const data::ProgressVisitor& progress) {
  data::LanguageSettings language{
      .length = settings.length,
      .mask = objective.mask,
      .has_token_type_ids = models::uses_token_type_ids(model),
      .seed = settings.seed,
      .languages = batching::languages_of(model),
      .restarts_positions = models::capabilities_of(model.family).resets_positions};
  const auto make = [&](const std::vector<data::DataItem>& items,
                        const data::DataOptions& shape) -> std::shared_ptr<const data::Dataset> {
    if (objective.type == ObjectiveType::kTranslationLm) {
      return make_translation_dataset(items, shape, language, *tokenizer, progress);
    }
    language.mask.reset();
    if (is_causal(objective, model)) {
      auto whole = make_causal_dataset(items, shape, language, *tokenizer, progress);
      return is_decoder_prefix_lm(objective, model)
                 ? data::make_prefix_dataset(std::move(whole), settings.seed)
                 : whole;
    }
    const auto sources = open_language_sources(items, shape, *tokenizer, progress);
    auto made = std::make_shared<data::CorruptedDataset>(
        sources,
        data::LanguagePacking{.pack = shape.pack,
                              .truncation = shape.truncation.value_or(data::Truncation::kSplit)},
        language, *tokenizer, make_corruption(objective, model, *tokenizer, settings.length));
    require_not_empty(*made, sources);
    return made;
  };
  Datasets result;
  const auto remember = [&](const std::string& which, const data::Dataset& dataset) {
    for (const auto& remark : dataset.remarks()) {
      result.remarks.push_back(which + ": " + remark);
    }
  };
  if (!options.train.empty()) {
    result.train = make(options.train, options);
    remember("train", *result.train);
  }
  if (!options.evaluate.empty()) {
    language.counts_texts = !is_decoder_prefix_lm(objective, model);  // which predicts only a part
    auto plain = options;
    plain.languages = {};  // each text once
    result.evaluate = make(options.evaluate, plain);
    remember("evaluate", *result.evaluate);
  }
  return result;
}

data::DataOptions store_options(const ObjectiveOptions& objective,
                                const data::DataOptions& options,
                                const models::ModelOptions& model) {
  return is_causal(objective, model) ? data::whole_documents(options) : options;
}

}  // namespace weft::objectives
