#include "data/datasets/corruption_dataset.h"

#include <algorithm>

#include "base/string_util.h"
#include "data/error.h"

namespace weft::data {

namespace {

/// Ends of the sentences in tokens [begin, end) of a store, relative to begin; the last one is the
/// end of the range.
std::vector<int64_t> find_sentence_ends(const TokenStore& store, int64_t begin, int64_t end) {
  int64_t low = 0;  // first sentence that begins after `begin`
  int64_t high = store.sentences();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (store.first_token(middle) > begin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  std::vector<int64_t> ends;
  for (; low < store.sentences() && store.first_token(low) < end; ++low) {
    ends.push_back(store.first_token(low) - begin);
  }
  ends.push_back(end - begin);
  return ends;
}

int64_t checked_max_tokens(int64_t max_tokens, int64_t length) {
  if (max_tokens < 2) {
    throw Error(str_cat("data.length: ", length, " tokens leave no space for text"));
  }
  return max_tokens;
}

}  // namespace

CorruptedDataset::CorruptedDataset(const std::vector<LanguageSource>& sources,
                                   const LanguagePacking& packing,
                                   const LanguageSettings& settings,
                                   const Tokenizer& tokenizer,
                                   std::unique_ptr<Corruption> corruption)
    : seed_(settings.seed),
      corruption_(std::move(corruption)),
      max_tokens_(checked_max_tokens(corruption_->max_tokens(settings.length), settings.length)),
      fingerprint_(hash_combine(language_fingerprint(sources, packing, settings, tokenizer),
                                corruption_->fingerprint())),
      text_(sources,
            {.pack = packing.pack, .truncation = packing.truncation, .max_tokens = max_tokens_},
            settings.seed) {}

Random CorruptedDataset::item_random(int64_t epoch, const Mixture::Entry& entry) const {
  return {seed_, RandomPurpose::kCorruption, static_cast<uint64_t>(epoch),
          static_cast<uint64_t>(entry.identity)};
}

int64_t CorruptedDataset::length(int64_t epoch, int64_t item) const {
  const auto entry = text_.locate(epoch, item);
  return corruption_->length(text_.range(entry).tokens, item_random(epoch, entry));
}

Example CorruptedDataset::example(int64_t epoch, int64_t item) const {
  const auto entry = text_.locate(epoch, item);
  const PackedRange& found = text_.range(entry);
  const TokenStore& store = text_.store(entry);
  CleanText clean_text{
      .ids = {},
      .sentence_ends = find_sentence_ends(store, found.begin, found.begin + found.tokens)};
  store.read(found.begin, found.begin + found.tokens, clean_text.ids);
  return corruption_->make(clean_text, item_random(epoch, entry));
}

}  // namespace weft::data
