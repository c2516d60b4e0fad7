#include "data/datasets/language_source.h"

#include <bit>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "data/datasets/packed_dataset.h"
#include "data/datasets/pair_dataset.h"
#include "data/error.h"

namespace weft::data {
namespace {

uint64_t language_hash_of(const MaskOptions& mask) {
  uint64_t hash = 0;
  for (const double value : {mask.fraction, mask.mask_share, mask.random_share, mask.span_mean}) {
    hash = mix(hash, std::bit_cast<uint64_t>(value));
  }
  hash = mix(hash, static_cast<uint64_t>(mask.unit));
  hash = mix(hash, static_cast<uint64_t>(mask.span_longest));
  return mix(hash, mask.is_static ? 1 : 0);
}

}  // namespace

uint64_t language_fingerprint(const std::vector<LanguageSource>& sources,
                              const LanguageShape& shape,
                              const LanguageSettings& settings,
                              const Tokenizer& tokenizer) {
  uint64_t hash = tokenizer.fingerprint();
  for (const LanguageSource& source : sources) {
    hash = mix(hash, source.store->fingerprint());
    hash = mix(hash, std::bit_cast<uint64_t>(source.weight));
    if (!settings.languages.empty()) {
      hash = digest(source.language, hash);
    }
  }
  hash = mix(hash, static_cast<uint64_t>(shape.pack));
  hash = mix(hash, static_cast<uint64_t>(shape.overflow));
  hash = mix(hash, static_cast<uint64_t>(settings.length));
  hash = mix(hash, static_cast<uint64_t>(settings.pair));
  hash = mix(hash, settings.has_types ? 1 : 0);
  hash = mix(hash, settings.seed);
  for (const std::string& language : settings.languages) {
    hash = digest(language, hash);
  }
  hash = settings.restarts_positions ? mix(hash, 0xA7E3) : hash;
  return mix(hash, settings.mask ? language_hash_of(*settings.mask) : 1);
}

int64_t room_for_text(int64_t length, int64_t added, int64_t least) {
  if (length < added + least) {
    throw Error(text("data.length: ", length, " tokens, must be at least ", added + least,
                     ", of which ", added, " are special"));
  }
  return length - added;
}

std::shared_ptr<const Dataset> make_language_dataset(const std::vector<LanguageSource>& sources,
                                                     const LanguageShape& shape,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer) {
  std::shared_ptr<const Dataset> made;
  if (settings.pair == PairTask::kNone) {
    made = std::make_shared<PackedDataset>(sources, shape, settings, *tokenizer);
  } else {
    made = std::make_shared<PairDataset>(sources, shape, settings, *tokenizer);
  }
  refuse_empty(*made, sources);
  return made;
}

void refuse_empty(const Dataset& dataset, const std::vector<LanguageSource>& sources) {
  if (dataset.size(0) > 0) {
    return;
  }
  std::vector<std::string> names;
  for (const LanguageSource& source : sources) {
    names.push_back(source.name);
  }
  throw Error(text(join(names), ": no text to learn from (", join(dataset.remarks(), "; "), ")"));
}

std::vector<LanguageSource> open_language_sources(const std::vector<DataItem>& items,
                                                  const DataOptions& options,
                                                  const Tokenizer& tokenizer,
                                                  const ProgressVisitor& progress) {
  std::vector<LanguageSource> sources;
  for (const DataItem& item : items) {
    LanguageSource source;
    source.weight = item.weight;
    source.name = item.path;
    source.language = item.language;
    source.store = open_token_store(item, options, tokenizer, progress, source.remarks);
    sources.push_back(std::move(source));
  }
  if (options.languages.alpha) {
    mix_languages(items, *options.languages.alpha, sources);
  }
  return sources;
}

void mix_languages(const std::vector<DataItem>& items,
                   double alpha,
                   std::vector<LanguageSource>& sources) {
  std::map<std::string, double> tokens;
  double all = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double seen = items[i].weight * static_cast<double>(sources[i].store->tokens());
    tokens[items[i].language] += seen;
    all += seen;
  }
  double powers = 0;
  for (const auto& [language, count] : tokens) {
    powers += std::pow(count, alpha);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double count = tokens.at(items[i].language);
    if (count > 0) {
      sources[i].weight *= std::pow(count, alpha) / powers * all / count;
    }
  }
}

}  // namespace weft::data
