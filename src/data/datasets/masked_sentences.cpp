#include "data/datasets/masked_sentences.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "data/datasets/masking.h"
#include "data/datasets/packing.h"
#include "data/error.h"
#include "data/remark.h"
#include "data/text/languages.h"

namespace weft::data {

namespace {

int64_t longest_sentence(const SentenceLimits& limits, int64_t special) {
  if (limits.sentences < 2) {
    throw Error(str_cat("model.document.sentences: ", limits.sentences,
                        ", must be at least 2 to predict one sentence from others"));
  }
  const auto longest = std::min(limits.sentence_length, limits.length / 2) - special;
  if (longest < 1) {
    throw Error(str_cat("data.length: ", limits.length, " tokens in sentences of at most ",
                        limits.sentence_length, ", must have space for two sentences with ",
                        special, " special tokens each"));
  }
  return longest;
}

}  // namespace

DataOptions divided_into_sentences(DataOptions options) {
  options.sentence = SentenceBoundary::kPunctuation;
  return options;
}

MaskedSentenceDataset::MaskedSentenceDataset(const std::vector<LanguageSource>& sources,
                                             Truncation truncation,
                                             const LanguageSettings& settings,
                                             const SentenceLimits& limits,
                                             const MaskedSentenceOptions& options,
                                             const Tokenizer& tokenizer)
    : settings_(settings),
      limits_(limits),
      options_(options),
      template_(tokenizer, /*is_pair=*/false),
      mask_id_(tokenizer.special_token_ids().mask),
      longest_(longest_sentence(limits, template_.num_special_tokens())),
      fingerprint_(language_fingerprint(sources, {.truncation = truncation}, settings, tokenizer)) {
  if (mask_id_ < 0) {
    throw Error("tokenizer: it has no mask token, which masked sentences require");
  }
  if (template_.after().empty()) {
    throw Error(
        "tokenizer: it adds no token after a text, such as [SEP], which would end a sentence");
  }
  for (const auto number : {limits.sentences, limits.sentence_length, limits.length}) {
    fingerprint_ = hash_combine(fingerprint_, static_cast<uint64_t>(number));
  }
  for (const auto number :
       {options.fraction, options.mask_sentence_prob, options.random_sentence_prob}) {
    fingerprint_ = hash_combine(fingerprint_, std::bit_cast<uint64_t>(number));
  }
  std::vector<MixturePart> mixture_parts;
  for (const auto& source : sources) {
    Part part{.source = source,
              .language = language_id(source.language, settings.languages, source.name)};
    for (int64_t document = 0; document < source.store->documents(); ++document) {
      add_document(document, truncation, part);
    }
    runs_ += std::ssize(part.runs);
    mixture_parts.push_back({std::ssize(part.runs), source.weight});
    parts_.push_back(std::move(part));
  }
  mixture_.emplace(mixture_parts, settings.seed);
}

TokenSpan MaskedSentenceDataset::span_of(const TokenStore& store, int64_t sentence) const {
  const auto begin = store.first_token(sentence);
  return {&store, begin, std::min(store.first_token(sentence + 1), begin + longest_)};
}

MaskedSentenceDataset::Run MaskedSentenceDataset::run_from(const TokenStore& store,
                                                           int64_t first,
                                                           int64_t end) const {
  const auto length_of = [&](int64_t sentence) {
    return span_of(store, sentence).tokens() + template_.num_special_tokens();
  };
  Run run{.first = first};
  for (auto sentence = first; sentence < end; ++sentence) {
    const auto length = run.length + length_of(sentence);
    if (run.sentences == limits_.sentences || length > limits_.length) {
      break;
    }
    ++run.sentences;
    run.length = static_cast<uint32_t>(length);
  }
  if (first + run.sentences == end - 1 && run.sentences > 2) {  // one more for the last run
    --run.sentences;
    run.length -= static_cast<uint32_t>(length_of(first + run.sentences));
  }
  return run;
}

void MaskedSentenceDataset::add_document(int64_t document,
                                         Truncation truncation,
                                         Part& part) const {
  const auto& store = *part.source.store;
  auto first = store.first_sentence(document);
  const auto end = store.first_sentence(document + 1);
  if (end - first == 1) {
    ++part.single;
    return;
  }
  while (first < end) {
    const auto run = run_from(store, first, end);
    if (run.sentences == 1) {
      ++part.alone;
      return;
    }
    const bool is_whole = first + run.sentences == end;
    if (truncation == Truncation::kDrop && !is_whole) {
      ++part.dropped;
      return;
    }
    part.runs.push_back(run);
    if (truncation != Truncation::kSplit) {
      part.truncated += is_whole ? 0 : 1;
      return;
    }
    first += run.sentences;
  }
}

const MaskedSentenceDataset::Run& MaskedSentenceDataset::run_of(const Mixture::Entry& entry) const {
  return parts_[entry.part].runs[static_cast<std::size_t>(entry.index)];
}

TokenSpan MaskedSentenceDataset::sample_sentence(const Mixture::Entry& entry,
                                                 int64_t own,
                                                 Random& random) const {
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(bound)));
  };
  if (runs_ == 1) {
    const auto& run = run_of(entry);
    const auto other = below(run.sentences - 1);
    return span_of(*parts_[entry.part].source.store, run.first + other + (other >= own ? 1 : 0));
  }
  int64_t before = 0;  // runs in front of this one
  for (std::size_t i = 0; i < entry.part; ++i) {
    before += std::ssize(parts_[i].runs);
  }
  auto sampled = below(runs_ - 1);
  sampled += sampled >= before + entry.index ? 1 : 0;
  for (const auto& part : parts_) {
    if (sampled < std::ssize(part.runs)) {
      const auto& run = part.runs[static_cast<std::size_t>(sampled)];
      return span_of(*part.source.store, run.first + below(run.sentences));
    }
    sampled -= std::ssize(part.runs);
  }
  throw std::logic_error("a sampled run is in no part");
}

std::vector<MaskedSentenceDataset::Selected> MaskedSentenceDataset::select(
    int64_t epoch, const Mixture::Entry& entry) const {
  const auto& run = run_of(entry);
  const auto& store = *parts_[entry.part].source.store;
  Random random(settings_.seed, RandomPurpose::kMask, static_cast<uint64_t>(epoch),
                static_cast<uint64_t>(entry.identity));
  std::vector<int64_t> sentences(run.sentences);
  std::iota(sentences.begin(), sentences.end(), int64_t{0});
  const auto wanted = std::llround(options_.fraction * static_cast<double>(sentences.size()));
  const auto count = static_cast<std::size_t>(
      std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, run.sentences - 1)));
  draw_to_front(sentences, count, random);
  std::sort(sentences.begin(), sentences.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Selected> selected;
  selected.reserve(count);
  auto room = limits_.length - run.length;  // for longer sentences in place of others
  for (std::size_t i = 0; i < count; ++i) {
    Selected one{.sentence = sentences[i]};
    const auto sample = random.uniform_double();
    if (sample < options_.mask_sentence_prob) {
      one.replacement = Replacement::kMask;
    } else if (sample < options_.mask_sentence_prob + options_.random_sentence_prob) {
      one.replacement = Replacement::kRandom;
      one.random = sample_sentence(entry, one.sentence, random);
      const auto own = span_of(store, run.first + one.sentence).tokens();
      one.random.end = std::min(one.random.end, one.random.begin + own + room);
      room += own - one.random.tokens();
    }
    selected.push_back(one);
  }
  return selected;
}

int64_t MaskedSentenceDataset::length(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const auto& run = run_of(entry);
  const auto& store = *parts_[entry.part].source.store;
  int64_t length = run.length;
  for (const auto& one : select(epoch, entry)) {
    if (one.replacement == Replacement::kRandom) {
      length += one.random.tokens() - span_of(store, run.first + one.sentence).tokens();
    }
  }
  return length;
}

Example MaskedSentenceDataset::example(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  const auto& run = run_of(entry);
  const auto& part = parts_[entry.part];
  const auto selected = select(epoch, entry);
  const auto& before = template_.before();
  const auto& after = template_.after();
  Example example;
  auto next = selected.begin();
  for (int64_t sentence = 0; sentence < run.sentences; ++sentence) {
    const auto own = span_of(*part.source.store, run.first + sentence);
    const bool is_selected = next != selected.end() && next->sentence == sentence;
    const auto replacement = is_selected ? next->replacement : Replacement::kNone;
    auto& ids = example.ids;
    const auto begin = std::ssize(ids);
    ids.insert(ids.end(), before.begin(), before.end());
    if (replacement == Replacement::kMask) {
      ids.insert(ids.end(), static_cast<std::size_t>(own.tokens()), mask_id_);
    } else {
      const auto& shown = replacement == Replacement::kRandom ? next->random : own;
      shown.store->read(shown.begin, shown.end, ids);
    }
    ids.insert(ids.end(), after.begin(), after.end());
    example.sentence_lengths.push_back(std::ssize(ids) - begin);
    if (settings_.has_token_type_ids) {
      const auto types =
          template_.token_type_ids(std::ssize(ids) - begin - template_.num_special_tokens());
      example.token_type_ids.insert(example.token_type_ids.end(), types.begin(), types.end());
    }
    if (is_selected) {
      own.store->read(own.begin, own.end, example.targets);
      example.targets.insert(example.targets.end(), after.begin(), after.end());
      example.target_positions.resize(example.targets.size(), std::ssize(ids) - 1);
      ++next;
    }
  }
  if (part.language) {
    set_language(example, *part.language);
  }
  return example;
}

std::string MaskedSentenceDataset::location(int64_t epoch, int64_t item) const {
  const auto entry = mixture_->locate(epoch, item);
  return location_of_sentence(parts_[entry.part].source, run_of(entry).first);
}

std::vector<std::string> MaskedSentenceDataset::remarks() const {
  std::vector<std::string> remarks;
  const auto longer =
      str_cat("of more than ", limits_.sentences, " sentences or ", limits_.length, " tokens");
  for (const auto& part : parts_) {
    const auto& name = part.source.name;
    remarks.insert(remarks.end(), part.source.remarks.begin(), part.source.remarks.end());
    add_remark(remarks, name,
               {.count = part.single,
                .noun = "document",
                .which = "with a single sentence",
                .done = "skipped: nothing would be left to predict it from"});
    add_remark(remarks, name,
               {.count = part.alone,
                .noun = "sentence",
                .which = "that the limits leave alone at the end of a document",
                .done = "skipped"});
    add_remarks(remarks, name,
                {.noun = "document",
                 .which = longer,
                 .truncated = part.truncated,
                 .dropped = part.dropped});
  }
  return remarks;
}

}  // namespace weft::data
