#include "data/datasets/packed_dataset.h"

#include "base/random.h"
#include "base/string_util.h"
#include "data/text/languages.h"

namespace weft::data {
namespace {

/// RoBERTa's FULL-SENTENCES (arXiv:1907.11692, section 4.2) puts its separator between documents.
std::optional<int64_t> document_separator(const SpecialTokenIds& special) {
  if (special.sep >= 0) {
    return special.sep;
  }
  if (special.eos >= 0) {
    return special.eos;
  }
  return std::nullopt;
}

}  // namespace

PackedDataset::PackedDataset(const std::vector<LanguageSource>& sources,
                             const LanguagePacking& packing,
                             const LanguageSettings& settings,
                             const Tokenizer& tokenizer)
    : packing_(packing),
      settings_(settings),
      template_(tokenizer, false),
      separator_(document_separator(tokenizer.special_token_ids())),
      fingerprint_(language_fingerprint(sources, packing, settings, tokenizer)) {
  if (settings.mask) {
    masker_.emplace(tokenizer, *settings.mask);
  }
  const PackingSettings pack{
      .pack = packing.pack,
      .truncation = packing.truncation,
      .max_tokens = max_text_tokens(settings.length, template_.num_special_tokens(), 1),
      .inserts_separator = separator_.has_value()};
  std::vector<MixturePart> mixture_parts;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, pack_sequences(*source.store, pack),
                      language_id(source.language, settings.languages, source.name)});
    mixture_parts.push_back(
        {static_cast<int64_t>(parts_.back().packed.ranges.size()), source.weight});
  }
  mixture_.emplace(mixture_parts, settings.seed);
}

int64_t PackedDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

const PackedRange& PackedDataset::range(const Mixture::Entry& entry) const {
  return parts_[entry.part].packed.ranges[static_cast<std::size_t>(entry.index)];
}

int64_t PackedDataset::length(int64_t epoch, int64_t item) const {
  return range(mixture_->locate(epoch, item)).length + template_.num_special_tokens();
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
      const int64_t boundary = store.first_token(store.first_sentence(document));
      if (boundary >= end) {
        break;
      }
      store.read(begin, boundary, ids);
      ids.push_back(*separator_);
      begin = boundary;
    }
  }
  store.read(begin, end, ids);
}

Example PackedDataset::example(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = mixture_->locate(epoch, item);
  const PackedRange& found = range(entry);
  Example example;
  example.ids.reserve(static_cast<std::size_t>(found.length + template_.num_special_tokens()));
  example.ids = template_.before();
  read(parts_[entry.part], found, example.ids);
  example.ids.insert(example.ids.end(), template_.after().begin(), template_.after().end());
  if (const auto language = parts_[entry.part].language) {
    set_language(example, *language);
  } else if (settings_.has_token_type_ids) {
    example.token_type_ids = template_.token_type_ids(found.length);
  }
  if (masker_) {
    masker_->mask(example, settings_.seed, epoch, entry.identity);
  }
  return example;
}

std::string PackedDataset::location(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = mixture_->locate(epoch, item);
  const Part& part = parts_[entry.part];
  const int64_t document = document_of_token(*part.source.store, range(entry).begin);
  return str_cat(part.source.name, ", document ", document + 1, ", sequence ", entry.index + 1);
}

uint64_t PackedDataset::fingerprint() const { return fingerprint_; }

std::vector<std::string> PackedDataset::remarks() const {
  const std::string what = packing_.pack == Pack::kDocument ? " documents" : " sentences";
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (part.packed.truncated > 0) {
      remarks.push_back(str_cat(part.source.name, ": ", with_commas(part.packed.truncated), what,
                                " longer than ", settings_.length, " tokens were truncated"));
    }
    if (part.packed.dropped > 0) {
      remarks.push_back(str_cat(part.source.name, ": ", with_commas(part.packed.dropped), what,
                                " longer than ", settings_.length, " tokens were dropped"));
    }
  }
  return remarks;
}

}  // namespace weft::data
