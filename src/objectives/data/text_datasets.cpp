#include "objectives/data/text_datasets.h"

#include <utility>

#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "data/datasets/causal_dataset.h"
#include "data/datasets/parallel_dataset.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"

namespace weft::objectives {

data::LanguageSettings language_settings(const DatasetInputs& inputs) {
  return {.length = inputs.length(),
          .has_token_type_ids = models::uses_token_type_ids(inputs.model),
          .seed = inputs.seed,
          .languages = batching::languages_of(inputs.model),
          .restarts_positions = models::capabilities_of(inputs.model.family).resets_positions};
}

namespace {

Datasets language_datasets(const DatasetInputs& inputs, data::LanguageSettings settings) {
  settings.restarts_positions = false;  // no translations: only the fingerprint would change
  return datasets_by(inputs, [&](const auto& items, const auto& options, bool /*is_training*/) {
    return make_language_dataset(items, options, settings, inputs.tokenizer, inputs.progress);
  });
}

}  // namespace

Datasets masked_datasets(const DatasetInputs& inputs,
                         const data::MaskOptions& mask,
                         data::PairTask pair) {
  auto settings = language_settings(inputs);
  settings.mask = mask;
  settings.pair = pair;
  return language_datasets(inputs, std::move(settings));
}

Datasets plain_datasets(const DatasetInputs& inputs) {
  return language_datasets(inputs, language_settings(inputs));
}

Datasets causal_datasets(const DatasetInputs& inputs) {
  auto settings = language_settings(inputs);
  return datasets_by(inputs, [&](const auto& items, const auto& options, bool is_training) {
    settings.counts_texts = !is_training;
    auto whole = make_causal_dataset(items, options, settings, *inputs.tokenizer, inputs.progress);
    if (!options.streams) {
      return std::shared_ptr<const data::Dataset>(std::move(whole));
    }
    return data::make_stream_dataset(std::move(whole), is_training ? *options.streams : 1);
  });
}

void check_causal_data(const config::Section& section, const data::DataOptions& options) {
  const data::DataOptions defaults;
  if (options.sentence != defaults.sentence) {
    section.report("sentence_boundary",
                   "has no effect here, only with other objectives: documents are not split into "
                   "sentences here");
  }
  if (options.truncation && options.pack == data::Pack::kStream) {
    section.report("overflow", "has no effect here, only with data.pack: document");
  }
  if (options.streams && (options.pack != data::Pack::kStream || options.shuffle)) {
    section.report("streams", "needs data.pack: stream and data.shuffle: false");
  }
  if (options.pack == data::Pack::kNone) {
    section.report(
        "pack", "none is not supported by causal language modelling, must be document or stream");
  }
}

Datasets corrupted_datasets(const DatasetInputs& inputs, const CorruptionMaker& make) {
  const auto settings = language_settings(inputs);
  const auto& decoder = inputs.model.decoder;
  const int64_t start =
      decoder.decoder_start_id >= 0 ? decoder.decoder_start_id : inputs.model.pad_id;
  return datasets_by(inputs, [&](const auto& items, const auto& options, bool /*is_training*/) {
    const auto sources = open_language_sources(items, options, *inputs.tokenizer, inputs.progress);
    auto made = std::make_shared<data::CorruptedDataset>(
        sources,
        data::LanguagePacking{.pack = options.pack,
                              .truncation = options.truncation.value_or(data::Truncation::kSplit)},
        settings, *inputs.tokenizer, make(start));
    require_not_empty(*made, sources);
    return made;
  });
}

Datasets parallel_datasets(const DatasetInputs& inputs, const PairOptions& options) {
  // mBART's decoder begins with the last token of its text, the language (arXiv:2001.08210).
  const bool begins_with_last = models::capabilities_of(inputs.model.family).has_language_tokens;
  const auto& decoder = inputs.model.decoder;
  const data::ParallelSettings settings{
      .length = inputs.length(),
      .truncation = inputs.data.truncation.value_or(data::Truncation::kTruncate),
      .prefix = options.source_prefix,
      .start_id = begins_with_last ? -1 : decoder.decoder_start_id,
      .source_language = options.source_language,
      .target_language = options.target_language,
      .takes_item_languages = begins_with_last,
      .is_joined = inputs.model.is_prefix_lm};
  return datasets_by(inputs, [&](const auto& items, const auto& shape, bool /*is_training*/) {
    return make_parallel_dataset(items, shape, settings, inputs.tokenizer, inputs.progress);
  });
}

}  // namespace weft::objectives
