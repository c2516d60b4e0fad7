#include "data/datasets/pair_dataset.h"

#include <algorithm>
#include <bit>

#include "base/string_util.h"
#include "data/datasets/packing.h"
#include "data/error.h"
#include "data/remark.h"

namespace weft::data {
namespace {

/// Number of `count` removed tokens that are taken from the front: a fair coin flip for each.
int64_t front_truncation(int64_t count, Random& random) {
  int64_t front = 0;
  for (; count > 0; count -= 32) {
    const uint32_t kept = count >= 32 ? ~0U : (1U << count) - 1;
    front += std::popcount(random.bits() & kept);
  }
  return front;
}

}  // namespace

PairDataset::PairDataset(const std::vector<LanguageSource>& sources,
                         const LanguagePacking& packing,
                         const LanguageSettings& settings,
                         const Tokenizer& tokenizer)
    : settings_(settings),
      template_(tokenizer, true),
      max_tokens_(max_text_tokens(settings.length, template_.num_special_tokens(), 2)),
      fingerprint_(language_fingerprint(sources, packing, settings, tokenizer)) {
  if (packing.pack != Pack::kDocument) {
    throw Error("data.pack: sentence pairs are built within documents, must be document");
  }
  if (settings.mask) {
    masker_.emplace(tokenizer, *settings.mask);
  }
  const ChunkSettings chunk_settings{
      .truncation = packing.truncation, .max_tokens = max_tokens_, .seed = settings.seed};
  std::vector<MixturePart> mixture_parts;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, chunk_documents(*source.store, chunk_settings)});
    mixture_parts.push_back(
        {static_cast<int64_t>(parts_.back().document_chunks.chunks.size()), source.weight});
  }
  mixture_.emplace(mixture_parts, settings.seed);
  check(sources);
}

void PairDataset::check(const std::vector<LanguageSource>& sources) const {
  const int64_t wanted = settings_.pair == PairTask::kNextSentence ? 2 : 1;
  int64_t documents = 0;
  for (const Part& part : parts_) {
    documents += part.document_chunks.documents;
  }
  if (documents >= wanted) {
    return;
  }
  std::vector<std::string> names;
  for (const LanguageSource& source : sources) {
    names.push_back(source.name);
  }
  throw Error(str_cat(join(names), ": ", documents,
                      " documents with two or more sentences, sentence pairs need at least ",
                      wanted,
                      " (in plain text an empty line ends a document and each line is a sentence; "
                      "see data.document_boundary and data.sentence_boundary)"));
}

Random PairDataset::item_random(int64_t epoch, const Mixture::Entry& entry) const {
  return {settings_.seed, RandomPurpose::kPair, static_cast<uint64_t>(epoch),
          static_cast<uint64_t>(entry.identity)};
}

int64_t PairDataset::size_of(const Part& part) {
  return static_cast<int64_t>(part.document_chunks.chunks.size());
}

std::pair<int64_t, int64_t> PairDataset::chunks_of_document(const Part& part, int64_t chunk) {
  const TokenStore& store = *part.source.store;
  const auto& chunks = part.document_chunks.chunks;
  const int64_t document =
      document_of_sentence(store, chunks[static_cast<std::size_t>(chunk)].first);
  const auto from = [&](int64_t sentence) {
    const auto found =
        std::lower_bound(chunks.begin(), chunks.end(), sentence,
                         [](const PairChunk& a, int64_t first) { return a.first < first; });
    return static_cast<int64_t>(found - chunks.begin());
  };
  return {from(store.first_sentence(document)), from(store.first_sentence(document + 1))};
}

TokenSpan PairDataset::sample_negative(const Mixture::Entry& entry,
                                       int64_t tokens,
                                       Random& random) const {
  const Part* part = &parts_[entry.part];
  const auto [own_begin, own_end] = chunks_of_document(*part, entry.index);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(bound)));
  };
  int64_t sampled = 0;
  if (part->document_chunks.documents > 1) {
    sampled = below(size_of(*part) - (own_end - own_begin));
    sampled += sampled >= own_begin ? own_end - own_begin : 0;
  } else {  // from all other sources, concatenated
    int64_t other_chunks = -size_of(*part);
    for (const Part& other : parts_) {
      other_chunks += size_of(other);
    }
    sampled = below(other_chunks);
    for (const Part& other : parts_) {
      if (&other == &parts_[entry.part]) {
        continue;
      }
      part = &other;
      if (sampled < size_of(other)) {
        break;
      }
      sampled -= size_of(other);
    }
  }
  const TokenStore* store = part->source.store.get();
  const PairChunk& chunk = part->document_chunks.chunks[static_cast<std::size_t>(sampled)];
  const int64_t begin = chunk.first + 1 + below(chunk.sentences - 1);
  const int64_t last = store->first_sentence(document_of_sentence(*store, begin) + 1);
  int64_t low = begin + 1;  // first end that gives enough tokens, or the document's
  int64_t high = last;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (store->first_token(middle) - store->first_token(begin) >= tokens) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {store, store->first_token(begin), store->first_token(low)};
}

PairDataset::Pair PairDataset::sample_pair(const Mixture::Entry& entry, Random& random) const {
  const Part& part = parts_[entry.part];
  const TokenStore& store = *part.source.store;
  const PairChunk& chunk = part.document_chunks.chunks[static_cast<std::size_t>(entry.index)];
  const int64_t last = chunk.first + chunk.sentences;
  const bool is_negative = random.uniform_double() < 0.5;
  const int64_t split =
      chunk.first + 1 + static_cast<int64_t>(random.uniform_int(chunk.sentences - 1));
  Pair pair;
  pair.label = is_negative ? 1 : 0;
  pair.first = {&store, store.first_token(chunk.first), store.first_token(split)};
  pair.second = {&store, store.first_token(split), store.first_token(last)};
  if (is_negative && settings_.pair == PairTask::kSentenceOrder) {
    std::swap(pair.first, pair.second);
  } else if (is_negative) {
    const int64_t wanted = std::max<int64_t>(1, chunk.target - pair.first.tokens());
    pair.second = sample_negative(entry, wanted, random);
  }
  return pair;
}

int64_t PairDataset::length(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = mixture_->locate(epoch, item);
  Random random = item_random(epoch, entry);
  const Pair pair = sample_pair(entry, random);
  return std::min(pair.first.tokens() + pair.second.tokens(), max_tokens_) +
         template_.num_special_tokens();
}

Example PairDataset::example(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = mixture_->locate(epoch, item);
  Random random = item_random(epoch, entry);
  Pair pair = sample_pair(entry, random);
  const auto [first, second] =
      truncate_pair(pair.first.tokens(), pair.second.tokens(), max_tokens_);
  pair.first.begin += front_truncation(pair.first.tokens() - first, random);
  pair.second.begin += front_truncation(pair.second.tokens() - second, random);

  Example example;
  std::vector<int64_t>& ids = example.ids;
  ids.reserve(static_cast<std::size_t>(first + second + template_.num_special_tokens()));
  ids.insert(ids.end(), template_.before().begin(), template_.before().end());
  pair.first.store->read(pair.first.begin, pair.first.begin + first, ids);
  ids.insert(ids.end(), template_.between().begin(), template_.between().end());
  pair.second.store->read(pair.second.begin, pair.second.begin + second, ids);
  ids.insert(ids.end(), template_.after().begin(), template_.after().end());
  if (settings_.has_token_type_ids) {
    example.token_type_ids = template_.token_type_ids(first, second);
  }
  example.label = pair.label;
  if (masker_) {
    masker_->mask(example, settings_.seed, epoch, entry.identity);
  }
  return example;
}

std::string PairDataset::location(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = mixture_->locate(epoch, item);
  const Part& part = parts_[entry.part];
  return location_of_sentence(
      part.source, part.document_chunks.chunks[static_cast<std::size_t>(entry.index)].first);
}

std::vector<std::string> PairDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    const std::string& name = part.source.name;
    const Chunks& result = part.document_chunks;
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    const std::string longer = str_cat("longer than ", settings_.length, " tokens");
    add_remark(remarks, name,
               {.count = result.single_sentence,
                .noun = "document",
                .which = "with a single sentence",
                .done = "skipped: a pair needs two"});
    add_remarks(remarks, name,
                {.noun = "document",
                 .which = longer,
                 .truncated = result.truncated,
                 .dropped = result.dropped});
  }
  return remarks;
}

}  // namespace weft::data
