#include "data/datasets/language_dataset.h"

#include <utility>

#include "data/datasets/language_source.h"
#include "data/datasets/packed_dataset.h"
#include "data/datasets/pair_dataset.h"

namespace weft::data {

std::shared_ptr<const Dataset> make_language_dataset(const std::vector<LanguageSource>& sources,
                                                     const LanguagePacking& packing,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer) {
  std::shared_ptr<const Dataset> result;
  if (settings.pair == PairTask::kNone) {
    result = std::make_shared<PackedDataset>(sources, packing, settings, *tokenizer);
  } else {
    result = std::make_shared<PairDataset>(sources, packing, settings, *tokenizer);
  }
  require_not_empty(*result, sources);
  return result;
}

std::shared_ptr<const Dataset> make_language_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress) {
  const auto sources = open_language_sources(items, options, *tokenizer, progress);
  const LanguagePacking packing{.pack = options.pack,
                                .truncation = options.truncation.value_or(Truncation::kSplit)};
  return make_language_dataset(sources, packing, settings, std::move(tokenizer));
}

}  // namespace weft::data
