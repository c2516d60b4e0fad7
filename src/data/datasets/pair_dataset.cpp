#include "data/datasets/pair_dataset.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "data/datasets/packing.h"
#include "data/error.h"

namespace weft::data {
namespace {

int64_t token_of(const TokenStore& store, int64_t sentence) { return store.first_token(sentence); }

/// How many of `count` cuts fall on the front: a fair coin for each.
int64_t front_cuts(int64_t count, Random& random) {
  int64_t front = 0;
  for (; count > 0; count -= 32) {
    const uint32_t kept = count >= 32 ? ~0U : (1U << count) - 1;
    front += std::popcount(random.bits() & kept);
  }
  return front;
}

}  // namespace

PairDataset::PairDataset(const std::vector<LanguageSource>& sources,
                         const LanguageShape& shape,
                         const LanguageSettings& settings,
                         const Tokenizer& tokenizer)
    : settings_(settings),
      template_(tokenizer, true),
      room_(room_for_text(settings.length, template_.added(), 2)),
      fingerprint_(language_fingerprint(sources, shape, settings, tokenizer)) {
  if (shape.pack != Pack::kDocument) {
    throw Error("data.pack: pairs of sentences are made within documents, must be document");
  }
  if (settings.mask) {
    masker_.emplace(tokenizer, *settings.mask);
  }
  const ChunkSettings divide{.overflow = shape.overflow, .room = room_, .seed = settings.seed};
  std::vector<MixturePart> shares;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, divide_documents(*source.store, divide)});
    shares.push_back({static_cast<int64_t>(parts_.back().divided.chunks.size()), source.weight});
  }
  mixture_.emplace(shares, settings.seed);
  check(sources);
}

void PairDataset::check(const std::vector<LanguageSource>& sources) const {
  const int64_t wanted = settings_.pair == PairTask::kNextSentence ? 2 : 1;
  int64_t documents = 0;
  for (const Part& part : parts_) {
    documents += part.divided.documents;
  }
  if (documents >= wanted) {
    return;
  }
  std::vector<std::string> names;
  for (const LanguageSource& source : sources) {
    names.push_back(source.name);
  }
  throw Error(text(join(names), ": ", documents,
                   " documents of two sentences or more, pairs need at "
                   "least ",
                   wanted,
                   " (an empty line ends a document, a line is a sentence; or see "
                   "data.document and data.sentence)"));
}

int64_t PairDataset::size(int64_t /*epoch*/) const { return mixture_->size(); }

Random PairDataset::random(int64_t epoch, const Mixture::Place& place) const {
  return {settings_.seed, Purpose::kPair, static_cast<uint64_t>(epoch),
          static_cast<uint64_t>(place.identity)};
}

int64_t PairDataset::size_of(const Part& part) {
  return static_cast<int64_t>(part.divided.chunks.size());
}

std::pair<int64_t, int64_t> PairDataset::chunks_of_document(const Part& part, int64_t chunk) {
  const TokenStore& store = *part.source.store;
  const auto& chunks = part.divided.chunks;
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

PairDataset::Stretch PairDataset::draw_stranger(const Mixture::Place& place,
                                                int64_t tokens,
                                                Random& random) const {
  const Part* part = &parts_[place.part];
  const auto [own_begin, own_end] = chunks_of_document(*part, place.index);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  };
  int64_t drawn = 0;
  if (part->divided.documents > 1) {
    drawn = below(size_of(*part) - (own_end - own_begin));
    drawn += drawn >= own_begin ? own_end - own_begin : 0;
  } else {  // from the other sources, as if they were one
    int64_t elsewhere = -size_of(*part);
    for (const Part& other : parts_) {
      elsewhere += size_of(other);
    }
    drawn = below(elsewhere);
    for (const Part& other : parts_) {
      if (&other == &parts_[place.part]) {
        continue;
      }
      part = &other;
      if (drawn < size_of(other)) {
        break;
      }
      drawn -= size_of(other);
    }
  }
  const TokenStore* store = part->source.store.get();
  const PairChunk& chunk = part->divided.chunks[static_cast<std::size_t>(drawn)];
  const int64_t begin = chunk.first + 1 + below(chunk.sentences - 1);
  const int64_t last = store->first_sentence(document_of_sentence(*store, begin) + 1);
  int64_t low = begin + 1;  // the first end that gives enough tokens, or the document's
  int64_t high = last;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (token_of(*store, middle) - token_of(*store, begin) >= tokens) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {store, token_of(*store, begin), token_of(*store, low)};
}

PairDataset::Pair PairDataset::draw_pair(const Mixture::Place& place, Random& random) const {
  const Part& part = parts_[place.part];
  const TokenStore& store = *part.source.store;
  const PairChunk& chunk = part.divided.chunks[static_cast<std::size_t>(place.index)];
  const int64_t last = chunk.first + chunk.sentences;
  const bool is_other = random.uniform_double() < 0.5;
  const int64_t border = chunk.first + 1 + static_cast<int64_t>(random.below(chunk.sentences - 1));
  Pair pair;
  pair.label = is_other ? 1 : 0;
  pair.first = {&store, token_of(store, chunk.first), token_of(store, border)};
  pair.second = {&store, token_of(store, border), token_of(store, last)};
  if (is_other && settings_.pair == PairTask::kSentenceOrder) {
    std::swap(pair.first, pair.second);
  } else if (is_other) {
    const int64_t wanted = std::max<int64_t>(1, chunk.target - pair.first.tokens());
    pair.second = draw_stranger(place, wanted, random);
  }
  return pair;
}

int64_t PairDataset::length(int64_t epoch, int64_t item) const {
  const Mixture::Place place = mixture_->locate(epoch, item);
  Random draws = random(epoch, place);
  const Pair pair = draw_pair(place, draws);
  return std::min(pair.first.tokens() + pair.second.tokens(), room_) + template_.added();
}

Example PairDataset::example(int64_t epoch, int64_t item) const {
  const Mixture::Place place = mixture_->locate(epoch, item);
  Random draws = random(epoch, place);
  Pair pair = draw_pair(place, draws);
  const auto [first, second] = cut_pair(pair.first.tokens(), pair.second.tokens(), room_);
  pair.first.begin += front_cuts(pair.first.tokens() - first, draws);
  pair.second.begin += front_cuts(pair.second.tokens() - second, draws);

  Example example;
  std::vector<int64_t>& ids = example.ids;
  ids.reserve(static_cast<std::size_t>(first + second + template_.added()));
  ids.insert(ids.end(), template_.before().begin(), template_.before().end());
  pair.first.store->read(pair.first.begin, pair.first.begin + first, ids);
  ids.insert(ids.end(), template_.between().begin(), template_.between().end());
  pair.second.store->read(pair.second.begin, pair.second.begin + second, ids);
  ids.insert(ids.end(), template_.after().begin(), template_.after().end());
  if (settings_.has_types) {
    example.types = template_.types(first, second);
  }
  example.label = pair.label;
  if (masker_) {
    masker_->mask(example, settings_.seed, epoch, place.identity);
  }
  return example;
}

std::string PairDataset::place(int64_t epoch, int64_t item) const {
  const Mixture::Place place = mixture_->locate(epoch, item);
  const Part& part = parts_[place.part];
  const int64_t sentence = part.divided.chunks[static_cast<std::size_t>(place.index)].first;
  const int64_t document = document_of_sentence(*part.source.store, sentence);
  return text(part.source.name, ", document ", document + 1, ", sentence ",
              sentence - part.source.store->first_sentence(document) + 1);
}

uint64_t PairDataset::fingerprint() const { return fingerprint_; }

std::vector<std::string> PairDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const Part& part : parts_) {
    const std::string& name = part.source.name;
    const Chunks& made = part.divided;
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    if (made.single > 0) {
      remarks.push_back(text(name, ": ", with_commas(made.single),
                             " documents of one sentence were left out, they have no pairs"));
    }
    if (made.cut > 0) {
      remarks.push_back(text(name, ": ", with_commas(made.cut), " documents longer than ",
                             settings_.length, " tokens were cut"));
    }
    if (made.dropped > 0) {
      remarks.push_back(text(name, ": ", with_commas(made.dropped), " documents longer than ",
                             settings_.length, " tokens were left out"));
    }
  }
  return remarks;
}

}  // namespace weft::data
