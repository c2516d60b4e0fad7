#include "data/datasets/causal_dataset.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/remark.h"

namespace weft::data {

CausalDataset::CausalDataset(const std::vector<LanguageSource>& sources,
                             const LanguagePacking& packing,
                             const LanguageSettings& settings,
                             const Tokenizer& tokenizer)
    : packing_(packing),
      length_(settings.length),
      has_token_type_ids_(settings.has_token_type_ids),
      fingerprint_(
          hash_combine(language_fingerprint(sources, packing, settings, tokenizer), 0xCA05A1)) {
  if (packing.pack == Pack::kNone) {
    throw Error(
        "data.pack: none is not supported by causal language modelling, must be document or "
        "stream");
  }
  const SequenceTemplate sequence_template(tokenizer, false);
  before_ = sequence_template.before();
  after_ = sequence_template.after();
  if (const int32_t end = tokenizer.special_token_ids().eos; after_.empty() && end >= 0) {
    after_.push_back(end);
  }
  std::vector<MixturePart> mixture_parts;
  for (const LanguageSource& source : sources) {
    Part part{.source = source, .ranges = {}};
    if (packing.pack == Pack::kStream) {
      split(0, document_begin(*source.store, source.store->documents()), part);
    } else {
      add_documents(part);
    }
    mixture_parts.push_back({static_cast<int64_t>(part.ranges.size()), source.weight});
    parts_.push_back(std::move(part));
  }
  mixture_.emplace(mixture_parts, settings.seed);
  has_counts_ = has_text_counts(settings);
}

bool CausalDataset::has_text_counts(const LanguageSettings& settings) const {
  return settings.counts_texts && std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
           return part.source.weight == 1 && part.truncated + part.dropped == 0;
         });
}

int64_t CausalDataset::document_begin(const TokenStore& store, int64_t document) const {
  return store.first_token(store.first_sentence(document)) + document * num_special_tokens();
}

int64_t CausalDataset::document_at(const TokenStore& store, int64_t position) const {
  int64_t low = 0;
  int64_t high = store.documents();
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (document_begin(store, middle) <= position ? low : high) = middle;
  }
  return low;
}

void CausalDataset::split(int64_t begin, int64_t end, Part& part) const {
  for (; begin + 1 < end; begin += length_) {
    part.ranges.push_back({begin, std::min(length_, end - 1 - begin)});
  }
}

void CausalDataset::add_documents(Part& part) const {
  const TokenStore& store = *part.source.store;
  for (int64_t document = 0; document < store.documents(); ++document) {
    const int64_t begin = document_begin(store, document);
    int64_t end = document_begin(store, document + 1);
    if (end - begin > length_ && packing_.truncation == Truncation::kDrop) {
      ++part.dropped;
      continue;
    }
    if (end - begin > length_ && packing_.truncation == Truncation::kTruncate) {
      ++part.truncated;
      end = begin + length_;
    }
    split(begin, end, part);
  }
}

std::vector<int64_t> CausalDataset::read(const TokenStore& store,
                                         int64_t begin,
                                         int64_t end) const {
  std::vector<int64_t> ids;
  ids.reserve(static_cast<std::size_t>(end - begin));
  const auto prefix_size = static_cast<int64_t>(before_.size());
  for (int64_t document = document_at(store, begin); begin < end; ++document) {
    const int64_t first = document_begin(store, document);
    const int64_t next = document_begin(store, document + 1);
    const int64_t text_end = next - static_cast<int64_t>(after_.size());
    const int64_t shift = first + prefix_size - store.first_token(store.first_sentence(document));
    for (; begin < std::min(end, first + prefix_size); ++begin) {
      ids.push_back(before_[static_cast<std::size_t>(begin - first)]);
    }
    if (const int64_t last = std::min(end, text_end); begin < last) {
      store.read(begin - shift, last - shift, ids);
      begin = last;
    }
    for (; begin < std::min(end, next); ++begin) {
      ids.push_back(after_[static_cast<std::size_t>(begin - text_end)]);
    }
  }
  return ids;
}

int64_t CausalDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

int64_t CausalDataset::length(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  return parts_[entry.part].ranges[static_cast<std::size_t>(entry.index)].tokens;
}

Example CausalDataset::example(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const Part& part = parts_[entry.part];
  const Range& range = part.ranges[static_cast<std::size_t>(entry.index)];
  Example example;
  example.ids = read(*part.source.store, range.begin, range.begin + range.tokens + 1);
  example.targets.assign(example.ids.begin() + 1, example.ids.end());
  example.ids.pop_back();
  example.target_positions.resize(example.ids.size());
  std::iota(example.target_positions.begin(), example.target_positions.end(), int64_t{0});
  if (has_token_type_ids_) {
    example.token_type_ids.assign(example.ids.size(), 0);
  }
  if (has_counts_) {
    const auto values = values_of(entry.index == 0 ? part.source.counts : TextCounts{});
    example.values.assign(values.begin(), values.end());
  }
  return example;
}

std::string CausalDataset::location(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const Part& part = parts_[entry.part];
  const Range& range = part.ranges[static_cast<std::size_t>(entry.index)];
  return str_cat(part.source.name, ", document ", document_at(*part.source.store, range.begin) + 1,
                 ", sequence ", entry.index + 1);
}

std::vector<std::string> CausalDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    const std::string longer = str_cat("longer than ", length_, " tokens");
    add_remarks(remarks, part.source.name,
                {.noun = "document",
                 .which = longer,
                 .truncated = part.truncated,
                 .dropped = part.dropped});
  }
  return remarks;
}

DataOptions whole_documents(DataOptions options) {
  options.sentence = SentenceBoundary::kNone;
  return options;
}

std::shared_ptr<const Dataset> make_causal_dataset(const std::vector<DataItem>& items,
                                                   const DataOptions& options,
                                                   const LanguageSettings& settings,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress) {
  auto sources = open_language_sources(items, whole_documents(options), tokenizer, progress);
  for (std::size_t i = 0; settings.counts_texts && i < items.size(); ++i) {
    sources[i].counts = count_texts(items[i], whole_documents(options));
  }
  const LanguagePacking packing{.pack = options.pack,
                                .truncation = options.truncation.value_or(Truncation::kSplit)};
  auto result = std::make_shared<CausalDataset>(sources, packing, settings, tokenizer);
  require_not_empty(*result, sources);
  return result;
}

}  // namespace weft::data
