#include "data/datasets/packed_dataset.h"

#include "base/random.h"
#include "base/text.h"
#include "data/text/languages.h"

namespace weft::data {
namespace {

/// RoBERTa's FULL-SENTENCES (arXiv:1907.11692, section 4.2) puts its separator between documents.
std::optional<int64_t> document_separator(const SpecialIds& special) {
  if (special.separate >= 0) {
    return special.separate;
  }
  if (special.end >= 0) {
    return special.end;
  }
  return std::nullopt;
}

}  // namespace

PackedDataset::PackedDataset(const std::vector<LanguageSource>& sources,
                             const LanguageShape& shape,
                             const LanguageSettings& settings,
                             const Tokenizer& tokenizer)
    : shape_(shape),
      settings_(settings),
      template_(tokenizer, false),
      separator_(document_separator(tokenizer.special())),
      fingerprint_(language_fingerprint(sources, shape, settings, tokenizer)) {
  if (settings.mask) {
    masker_.emplace(tokenizer, *settings.mask);
  }
  const PackSettings pack{.pack = shape.pack,
                          .overflow = shape.overflow,
                          .room = room_for_text(settings.length, template_.added(), 1),
                          .separates = separator_.has_value()};
  std::vector<MixturePart> shares;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, pack_sequences(*source.store, pack),
                      language_id(source.language, settings.languages, source.name)});
    shares.push_back({static_cast<int64_t>(parts_.back().packed.ranges.size()), source.weight});
  }
  mixture_.emplace(shares, settings.seed);
}

int64_t PackedDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

const PackedRange& PackedDataset::range(const Mixture::Place& place) const {
  return parts_[place.part].packed.ranges[static_cast<std::size_t>(place.index)];
}

int64_t PackedDataset::length(int64_t epoch, int64_t item) const {
  return range(mixture_->locate(epoch, item)).length + template_.added();
}

void PackedDataset::read(const Part& part,
                         const PackedRange& range,
                         std::vector<int64_t>& ids) const {
  const TokenStore& store = *part.source.store;
  int64_t begin = range.begin;
  const int64_t end = range.begin + range.tokens;
  if (range.length > range.tokens) {
    int64_t document = document_of_token(store, begin) + 1;
    for (; document < store.documents(); ++document) {
      const int64_t border = store.first_token(store.first_sentence(document));
      if (border >= end) {
        break;
      }
      store.read(begin, border, ids);
      ids.push_back(*separator_);
      begin = border;
    }
  }
  store.read(begin, end, ids);
}

Example PackedDataset::example(int64_t epoch, int64_t item) const {
  const Mixture::Place place = mixture_->locate(epoch, item);
  const PackedRange& found = range(place);
  Example example;
  example.ids.reserve(static_cast<std::size_t>(found.length + template_.added()));
  example.ids = template_.before();
  read(parts_[place.part], found, example.ids);
  example.ids.insert(example.ids.end(), template_.after().begin(), template_.after().end());
  if (const auto language = parts_[place.part].language) {
    set_language(example, *language);
  } else if (settings_.has_types) {
    example.types = template_.types(found.length);
  }
  if (masker_) {
    masker_->mask(example, settings_.seed, epoch, place.identity);
  }
  return example;
}

std::string PackedDataset::place(int64_t epoch, int64_t item) const {
  const Mixture::Place place = mixture_->locate(epoch, item);
  const Part& part = parts_[place.part];
  const int64_t document = document_of_token(*part.source.store, range(place).begin);
  return text(part.source.name, ", document ", document + 1, ", sequence ", place.index + 1);
}

uint64_t PackedDataset::fingerprint() const { return fingerprint_; }

std::vector<std::string> PackedDataset::remarks() const {
  const std::string what = shape_.pack == Pack::kDocument ? " documents" : " sentences";
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (part.packed.cut > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.packed.cut), what,
                             " longer than ", settings_.length, " tokens were cut"));
    }
    if (part.packed.dropped > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.packed.dropped), what,
                             " longer than ", settings_.length, " tokens were left out"));
    }
  }
  return remarks;
}

}  // namespace weft::data
