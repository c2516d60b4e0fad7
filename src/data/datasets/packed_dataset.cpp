#include "data/datasets/packed_dataset.h"

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
    : settings_(settings),
      template_(tokenizer, false),
      separator_(document_separator(tokenizer.special_token_ids())),
      fingerprint_(language_fingerprint(sources, packing, settings, tokenizer)),
      text_(sources,
            {.pack = packing.pack,
             .truncation = packing.truncation,
             .max_tokens = max_text_tokens(settings.length, template_.num_special_tokens(), 1),
             .inserts_separator = separator_.has_value()},
            settings.seed) {
  if (settings.mask) {
    masker_.emplace(tokenizer, *settings.mask);
  }
  for (const LanguageSource& source : sources) {
    languages_.push_back(language_id(source.language, settings.languages, source.name));
  }
}

int64_t PackedDataset::length(int64_t epoch, int64_t item) const {
  return text_.range(text_.locate(epoch, item)).length + template_.num_special_tokens();
}

void PackedDataset::read(const Mixture::Entry& entry, std::vector<int64_t>& ids) const {
  const TokenStore& store = text_.store(entry);
  const PackedRange& range = text_.range(entry);
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
  const Mixture::Entry entry = text_.locate(epoch, item);
  const PackedRange& found = text_.range(entry);
  Example example;
  example.ids.reserve(static_cast<std::size_t>(found.length + template_.num_special_tokens()));
  example.ids = template_.before();
  read(entry, example.ids);
  example.ids.insert(example.ids.end(), template_.after().begin(), template_.after().end());
  if (const auto language = languages_[entry.part]) {
    set_language(example, *language);
  } else if (settings_.has_token_type_ids) {
    example.token_type_ids = template_.token_type_ids(found.length);
  }
  if (masker_) {
    masker_->mask(example, settings_.seed, epoch, entry.identity);
  }
  return example;
}

}  // namespace weft::data
