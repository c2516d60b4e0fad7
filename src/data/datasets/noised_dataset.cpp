#include "data/datasets/noised_dataset.h"

#include <algorithm>

#include "base/text.h"
#include "data/error.h"

namespace weft::data {

namespace {

/// Ends of sentences in tokens [begin, end) of a store, counted from begin; the stretch's own end
/// is the last.
std::vector<int64_t> sentence_ends(const TokenStore& store, int64_t begin, int64_t end) {
  int64_t low = 0;  // the first sentence that begins behind `begin`
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

NoisedDataset::NoisedDataset(const std::vector<LanguageSource>& sources,
                             const LanguageShape& shape,
                             const LanguageSettings& settings,
                             const Tokenizer& tokenizer,
                             std::unique_ptr<Noiser> noiser)
    : shape_(shape),
      seed_(settings.seed),
      noiser_(std::move(noiser)),
      room_(noiser_->room(settings.length)),
      fingerprint_(
          mix(language_fingerprint(sources, shape, settings, tokenizer), noiser_->fingerprint())) {
  if (room_ < 2) {
    throw Error(text("data.length: ", settings.length, " tokens leave no room for text"));
  }
  const PackSettings pack{.pack = shape.pack, .overflow = shape.overflow, .room = room_};
  std::vector<MixturePart> shares;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, pack_sequences(*source.store, pack)});
    shares.push_back({static_cast<int64_t>(parts_.back().packed.ranges.size()), source.weight});
  }
  mixture_.emplace(shares, settings.seed);
}

int64_t NoisedDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

const PackedRange& NoisedDataset::range(const Mixture::Place& place) const {
  return parts_[place.part].packed.ranges[static_cast<std::size_t>(place.index)];
}

Random NoisedDataset::chance(int64_t epoch, const Mixture::Place& place) const {
  return {seed_, Purpose::kNoise, static_cast<uint64_t>(epoch),
          static_cast<uint64_t>(place.identity)};
}

int64_t NoisedDataset::length(int64_t epoch, int64_t item) const {
  const auto place = mixture_->locate(epoch, item);
  return noiser_->length(range(place).tokens, chance(epoch, place));
}

Example NoisedDataset::example(int64_t epoch, int64_t item) const {
  const auto place = mixture_->locate(epoch, item);
  const PackedRange& found = range(place);
  const TokenStore& store = *parts_[place.part].source.store;
  PlainStretch stretch{.ids = {},
                       .ends = sentence_ends(store, found.begin, found.begin + found.tokens)};
  store.read(found.begin, found.begin + found.tokens, stretch.ids);
  return noiser_->make(stretch, chance(epoch, place));
}

std::string NoisedDataset::place(int64_t epoch, int64_t item) const {
  const auto place = mixture_->locate(epoch, item);
  const Part& part = parts_[place.part];
  const int64_t document = document_of_token(*part.source.store, range(place).begin);
  return text(part.source.name, ", document ", document + 1, ", sequence ", place.index + 1);
}

std::vector<std::string> NoisedDataset::remarks() const {
  const std::string what = shape_.pack == Pack::kDocument ? " documents" : " sentences";
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (part.packed.cut > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.packed.cut), what,
                             " longer than ", room_, " tokens were cut"));
    }
    if (part.packed.dropped > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.packed.dropped), what,
                             " longer than ", room_, " tokens were left out"));
    }
  }
  return remarks;
}

}  // namespace weft::data
