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

}  // namespace

CorruptedDataset::CorruptedDataset(const std::vector<LanguageSource>& sources,
                                   const LanguagePacking& packing,
                                   const LanguageSettings& settings,
                                   const Tokenizer& tokenizer,
                                   std::unique_ptr<Corruption> corruption)
    : packing_(packing),
      seed_(settings.seed),
      corruption_(std::move(corruption)),
      max_tokens_(corruption_->max_tokens(settings.length)),
      fingerprint_(hash_combine(language_fingerprint(sources, packing, settings, tokenizer),
                                corruption_->fingerprint())) {
  if (max_tokens_ < 2) {
    throw Error(str_cat("data.length: ", settings.length, " tokens leave no space for text"));
  }
  const PackingSettings pack{
      .pack = packing.pack, .truncation = packing.truncation, .max_tokens = max_tokens_};
  std::vector<MixturePart> mixture_parts;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, pack_sequences(*source.store, pack)});
    mixture_parts.push_back(
        {static_cast<int64_t>(parts_.back().packed.ranges.size()), source.weight});
  }
  mixture_.emplace(mixture_parts, settings.seed);
}

int64_t CorruptedDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

const PackedRange& CorruptedDataset::range(const Mixture::Entry& entry) const {
  return parts_[entry.part].packed.ranges[static_cast<std::size_t>(entry.index)];
}

Random CorruptedDataset::item_random(int64_t epoch, const Mixture::Entry& entry) const {
  return {seed_, RandomPurpose::kCorruption, static_cast<uint64_t>(epoch),
          static_cast<uint64_t>(entry.identity)};
}

int64_t CorruptedDataset::length(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  return corruption_->length(range(entry).tokens, item_random(epoch, entry));
}

Example CorruptedDataset::example(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const PackedRange& found = range(entry);
  const TokenStore& store = *parts_[entry.part].source.store;
  CleanText clean_text{
      .ids = {},
      .sentence_ends = find_sentence_ends(store, found.begin, found.begin + found.tokens)};
  store.read(found.begin, found.begin + found.tokens, clean_text.ids);
  return corruption_->make(clean_text, item_random(epoch, entry));
}

std::string CorruptedDataset::location(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const Part& part = parts_[entry.part];
  const int64_t document = document_of_token(*part.source.store, range(entry).begin);
  return str_cat(part.source.name, ", document ", document + 1, ", sequence ", entry.index + 1);
}

std::vector<std::string> CorruptedDataset::remarks() const {
  const std::string what = packing_.pack == Pack::kDocument ? " documents" : " sentences";
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (part.packed.truncated > 0) {
      remarks.push_back(str_cat(part.source.name, ": ", with_commas(part.packed.truncated), what,
                                " longer than ", max_tokens_, " tokens were truncated"));
    }
    if (part.packed.dropped > 0) {
      remarks.push_back(str_cat(part.source.name, ": ", with_commas(part.packed.dropped), what,
                                " longer than ", max_tokens_, " tokens were dropped"));
    }
  }
  return remarks;
}

}  // namespace weft::data
