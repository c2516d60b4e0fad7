#include "data/datasets/causal_dataset.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "data/error.h"

namespace weft::data {

CausalDataset::CausalDataset(const std::vector<LanguageSource>& sources,
                             const LanguageShape& shape,
                             const LanguageSettings& settings,
                             const Tokenizer& tokenizer)
    : shape_(shape),
      length_(settings.length),
      has_types_(settings.has_types),
      fingerprint_(mix(language_fingerprint(sources, shape, settings, tokenizer), 0xCA05A1)) {
  if (shape.pack == Pack::kNone) {
    throw Error("data.pack: none is nothing for the next token, must be document or stream");
  }
  const SequenceTemplate around(tokenizer, false);
  before_ = around.before();
  after_ = around.after();
  if (const int32_t end = tokenizer.special().end; after_.empty() && end >= 0) {
    after_.push_back(end);
  }
  std::vector<MixturePart> shares;
  for (const LanguageSource& source : sources) {
    Part part{.source = source, .ranges = {}};
    if (shape.pack == Pack::kStream) {
      split(0, begin_of(*source.store, source.store->documents()), part);
    } else {
      add_documents(part);
    }
    shares.push_back({static_cast<int64_t>(part.ranges.size()), source.weight});
    parts_.push_back(std::move(part));
  }
  mixture_.emplace(shares, settings.seed);
  has_counts_ = knows_counts(settings);
}

bool CausalDataset::knows_counts(const LanguageSettings& settings) const {
  return settings.counts_texts && std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
           return part.source.weight == 1 && part.cut + part.dropped == 0;
         });
}

int64_t CausalDataset::begin_of(const TokenStore& store, int64_t document) const {
  return store.first_token(store.first_sentence(document)) + document * frame();
}

int64_t CausalDataset::document_at(const TokenStore& store, int64_t place) const {
  int64_t low = 0;
  int64_t high = store.documents();
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (begin_of(store, middle) <= place ? low : high) = middle;
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
    const int64_t begin = begin_of(store, document);
    int64_t end = begin_of(store, document + 1);
    if (end - begin > length_ && shape_.overflow == Overflow::kDrop) {
      ++part.dropped;
      continue;
    }
    if (end - begin > length_ && shape_.overflow == Overflow::kCut) {
      ++part.cut;
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
  const auto framed = static_cast<int64_t>(before_.size());
  for (int64_t document = document_at(store, begin); begin < end; ++document) {
    const int64_t first = begin_of(store, document);
    const int64_t next = begin_of(store, document + 1);
    const int64_t text_end = next - static_cast<int64_t>(after_.size());
    const int64_t shift = first + framed - store.first_token(store.first_sentence(document));
    for (; begin < std::min(end, first + framed); ++begin) {
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
  const auto place = mixture_->locate(epoch, item);
  return parts_[place.part].ranges[static_cast<std::size_t>(place.index)].tokens;
}

Example CausalDataset::example(int64_t epoch, int64_t item) const {
  const auto place = mixture_->locate(epoch, item);
  const Part& part = parts_[place.part];
  const Range& range = part.ranges[static_cast<std::size_t>(place.index)];
  Example example;
  example.ids = read(*part.source.store, range.begin, range.begin + range.tokens + 1);
  example.targets.assign(example.ids.begin() + 1, example.ids.end());
  example.ids.pop_back();
  example.target_positions.resize(example.ids.size());
  std::iota(example.target_positions.begin(), example.target_positions.end(), int64_t{0});
  if (has_types_) {
    example.types.assign(example.ids.size(), 0);
  }
  if (has_counts_) {
    const auto values = values_of(place.index == 0 ? part.source.counts : TextCounts{});
    example.values.assign(values.begin(), values.end());
  }
  return example;
}

std::string CausalDataset::place(int64_t epoch, int64_t item) const {
  const auto place = mixture_->locate(epoch, item);
  const Part& part = parts_[place.part];
  const Range& range = part.ranges[static_cast<std::size_t>(place.index)];
  return text(part.source.name, ", document ", document_at(*part.source.store, range.begin) + 1,
              ", sequence ", place.index + 1);
}

std::vector<std::string> CausalDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (part.cut > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.cut),
                             " documents longer than ", length_, " tokens were cut"));
    }
    if (part.dropped > 0) {
      remarks.push_back(text(part.source.name, ": ", with_commas(part.dropped),
                             " documents longer than ", length_, " tokens were left out"));
    }
  }
  return remarks;
}

DataOptions whole_documents(DataOptions options) {
  options.sentence = SentenceBorder::kNone;
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
  const LanguageShape shape{.pack = options.pack,
                            .overflow = options.overflow.value_or(Overflow::kSplit)};
  auto made = std::make_shared<CausalDataset>(sources, shape, settings, tokenizer);
  refuse_empty(*made, sources);
  return made;
}

}  // namespace weft::data
