#include "data/datasets/language_source.h"

#include <bit>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/error.h"

namespace weft::data {
namespace {

uint64_t language_hash_of(const MaskOptions& mask) {
  uint64_t hash = 0;
  for (const double value :
       {mask.fraction, mask.mask_token_prob, mask.random_token_prob, mask.mean_span}) {
    hash = hash_combine(hash, std::bit_cast<uint64_t>(value));
  }
  hash = hash_combine(hash, static_cast<uint64_t>(mask.unit));
  hash = hash_combine(hash, static_cast<uint64_t>(mask.max_span));
  return hash_combine(hash, mask.is_static ? 1 : 0);
}

}  // namespace

uint64_t language_fingerprint(const std::vector<LanguageSource>& sources,
                              const LanguagePacking& packing,
                              const LanguageSettings& settings,
                              const Tokenizer& tokenizer) {
  uint64_t hash = tokenizer.fingerprint();
  for (const LanguageSource& source : sources) {
    hash = hash_combine(hash, source.store->fingerprint());
    hash = hash_combine(hash, std::bit_cast<uint64_t>(source.weight));
    if (!settings.languages.empty()) {
      hash = digest(source.language, hash);
    }
  }
  hash = hash_combine(hash, static_cast<uint64_t>(packing.pack));
  hash = hash_combine(hash, static_cast<uint64_t>(packing.truncation));
  hash = hash_combine(hash, static_cast<uint64_t>(settings.length));
  hash = hash_combine(hash, static_cast<uint64_t>(settings.pair));
  hash = hash_combine(hash, settings.has_token_type_ids ? 1 : 0);
  hash = hash_combine(hash, settings.seed);
  for (const std::string& language : settings.languages) {
    hash = digest(language, hash);
  }
  hash = settings.restarts_positions ? hash_combine(hash, 0xA7E3) : hash;
  return hash_combine(hash, settings.mask ? language_hash_of(*settings.mask) : 1);
}

int64_t max_text_tokens(int64_t length, int64_t added, int64_t min_tokens) {
  if (length < added + min_tokens) {
    throw Error(str_cat("data.length: ", length, " tokens, must be at least ", added + min_tokens,
                        " including ", added, " special tokens"));
  }
  return length - added;
}

void require_not_empty(const Dataset& dataset, const std::vector<LanguageSource>& sources) {
  if (dataset.size(0) > 0) {
    return;
  }
  std::vector<std::string> names;
  for (const LanguageSource& source : sources) {
    names.push_back(source.name);
  }
  throw Error(str_cat(join(names), ": no text to train on (", join(dataset.remarks(), "; "), ")"));
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
    const double sampled = items[i].weight * static_cast<double>(sources[i].store->tokens());
    tokens[items[i].language] += sampled;
    all += sampled;
  }
  double power_sum = 0;
  for (const auto& [language, count] : tokens) {
    power_sum += std::pow(count, alpha);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double count = tokens.at(items[i].language);
    if (count > 0) {
      sources[i].weight *= std::pow(count, alpha) / power_sum * all / count;
    }
  }
}

}  // namespace weft::data
