#include "objectives/data/running_text.h"

#include "batching/token_types.h"
#include "data/datasets/causal_dataset.h"
#include "data/datasets/noised_dataset.h"
#include "data/datasets/prefix_dataset.h"
#include "data/datasets/translation_dataset.h"
#include "models/config/family_definition.h"
#include "models/config/traits.h"

namespace weft::objectives {

namespace {

std::unique_ptr<data::Noiser> noiser_of(const ObjectiveOptions& objective,
                                        const models::ModelOptions& model,
                                        const data::Tokenizer& tokenizer,
                                        int64_t length) {
  const int64_t start = model.decoder.start_id >= 0 ? model.decoder.start_id : model.pad_id;
  if (objective.type == ObjectiveType::kSpanCorruption) {
    return data::make_span_corruption(tokenizer, objective.span_corruption, start, length);
  }
  if (objective.type == ObjectiveType::kDenoise) {
    return data::make_denoising(tokenizer, objective.denoise, start);
  }
  return data::make_prefix_cut(tokenizer, start);
}

bool is_causal(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  return objective.type == ObjectiveType::kCausal || has_decoder_prefix(objective, model) ||
         (objective.type == ObjectiveType::kDistill &&
          objective.distill.task == DistilledTask::kCausal);
}

}  // namespace

bool has_decoder_prefix(const ObjectiveOptions& objective, const models::ModelOptions& model) {
  return objective.type == ObjectiveType::kPrefix && !models::reads_source(model);
}

TaskData running_text_data(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           const RunningTextSettings& settings,
                           const data::ProgressVisitor& progress) {
  data::LanguageSettings language{
      .length = settings.length,
      .mask = objective.mask,
      .has_types = models::tells_segments(model),
      .seed = settings.seed,
      .languages = batching::languages_of(model),
      .restarts_positions = models::traits_of(model.family).restarts_positions};
  const auto make = [&](const std::vector<data::DataItem>& items,
                        const data::DataOptions& shape) -> std::shared_ptr<const data::Dataset> {
    if (objective.type == ObjectiveType::kTranslationLm) {
      return make_translation_dataset(items, shape, language, *tokenizer, progress);
    }
    language.mask.reset();
    if (is_causal(objective, model)) {
      auto whole = make_causal_dataset(items, shape, language, *tokenizer, progress);
      return has_decoder_prefix(objective, model)
                 ? data::make_prefix_dataset(std::move(whole), settings.seed)
                 : whole;
    }
    const auto sources = open_language_sources(items, shape, *tokenizer, progress);
    auto made = std::make_shared<data::NoisedDataset>(
        sources,
        data::LanguageShape{.pack = shape.pack,
                            .overflow = shape.overflow.value_or(data::Overflow::kSplit)},
        language, *tokenizer, noiser_of(objective, model, *tokenizer, settings.length));
    refuse_empty(*made, sources);
    return made;
  };
  TaskData result;
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
    language.counts_texts = !has_decoder_prefix(objective, model);  // which guesses a part
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
