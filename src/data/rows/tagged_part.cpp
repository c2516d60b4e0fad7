#include "data/rows/tagged_part.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "base/threads.h"
#include "data/error.h"
#include "data/text/text_words.h"
#include "data/text/word_encoder.h"

namespace weft::data {
namespace {

constexpr int64_t kSentencesAtOnce = 256;
constexpr int64_t kMostNumbered = 10'000;  // tags that are numbers

struct Pieces {
  std::vector<int32_t> ids;
  std::vector<int32_t> counts;
};

/// Tokenises on all cores.
Pieces tokenize_words(const TaggedRows& rows, const Tokenizer& tokenizer) {
  const WordEncoder encoder(tokenizer);
  const int64_t blocks = (rows.size() + kSentencesAtOnce - 1) / kSentencesAtOnce;
  std::vector<Pieces> parts(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      Pieces& part = parts[static_cast<std::size_t>(block)];
      const int64_t last = std::min((block + 1) * kSentencesAtOnce, rows.size());
      for (int64_t word = rows.begin(block * kSentencesAtOnce); word < rows.begin(last); ++word) {
        const std::size_t before = part.ids.size();
        encoder.encode(rows.word(word), part.ids);
        part.counts.push_back(static_cast<int32_t>(part.ids.size() - before));
      }
    }
  });
  Pieces all;
  for (const Pieces& part : parts) {
    all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
    all.counts.insert(all.counts.end(), part.counts.begin(), part.counts.end());
  }
  return all;
}

/// Id of each of the part's tag names; a number of a JSON file that is no name is an id itself.
std::vector<int32_t> ids_of_names(const TaggedRows& rows, const Labels& labels) {
  std::vector<int32_t> ids;
  for (const TagName& tag : rows.names()) {
    auto id = labels.find(tag.name);
    if (!id && tag.is_number) {
      const auto number = number_of(tag.name);
      const bool is_id =
          number && *number >= 0 && *number < static_cast<double>(labels.names().size());
      id = is_id ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
    }
    ids.push_back(static_cast<int32_t>(id.value_or(-1)));
  }
  return ids;
}

void read_tags(TaggedPart& part, const Labels& labels) {
  const auto ids = ids_of_names(part.rows, labels);
  const auto count = part.rows.end(part.rows.size() - 1);
  part.tags.reserve(static_cast<std::size_t>(count));
  for (int64_t word = 0; word < count; ++word) {
    const auto name = static_cast<std::size_t>(part.rows.tag(word));
    if (ids[name] < 0) {
      labels.refuse(part.rows.names()[name].name, part.rows.place(word));
    }
    part.tags.push_back(ids[name]);
  }
}

/// Cuts one part's sentences into sequences.
class Fitter {
 public:
  Fitter(TaggedPart& part, Overflow overflow, int64_t room)
      : part_(part), overflow_(overflow), room_(room) {}

  void add(int64_t sentence) {
    TaggedSequence whole{.first_word = part_.rows.begin(sentence), .first_piece = next_piece_};
    whole.words = part_.rows.end(sentence) - whole.first_word;
    for (int64_t word = 0; word < whole.words; ++word) {
      whole.pieces += count(whole.first_word + word);
    }
    next_piece_ += whole.pieces;
    if (whole.pieces == 0) {
      ++part_.empty;
    } else if (whole.pieces <= room_) {
      part_.sequences.push_back(whole);
    } else {
      fit(whole);
    }
  }

 private:
  int64_t count(int64_t word) const { return part_.counts[static_cast<std::size_t>(word)]; }

  void fit(const TaggedSequence& whole) {
    switch (overflow_) {
      case Overflow::kDrop:
        ++part_.dropped;
        return;
      case Overflow::kCut: {
        ++part_.cut;
        const auto kept = begin_of(whole, room_);
        part_.cut_words += whole.words - kept.words;
        part_.sequences.push_back(kept);
        return;
      }
      case Overflow::kSplit:
        ++part_.split;
        split(whole);
        return;
    }
  }

  /// The sequence's words that begin within `room` pieces, the last one cut where it must be.
  TaggedSequence begin_of(TaggedSequence sequence, int64_t room) const {
    int64_t words = 0;
    int64_t pieces = 0;
    while (words < sequence.words && pieces < room) {
      pieces += count(sequence.first_word + words);
      ++words;
    }
    sequence.words = words;
    sequence.pieces = std::min(pieces, room);
    return sequence;
  }

  void split(const TaggedSequence& whole) {
    const auto first = part_.counts.begin() + whole.first_word;
    const std::vector<int32_t> counts(first, first + whole.words);
    int64_t begin = 0;
    int64_t piece = whole.first_piece;
    for (const int64_t end : word_stretches(counts, room_)) {
      const auto pieces = std::accumulate(counts.begin() + begin, counts.begin() + end, int64_t{0});
      if (pieces > 0) {
        part_.sequences.push_back({.first_word = whole.first_word + begin,
                                   .words = end - begin,
                                   .first_piece = piece,
                                   .pieces = std::min(pieces, room_)});
      }
      begin = end;
      piece += pieces;
    }
  }

  TaggedPart& part_;
  Overflow overflow_;
  int64_t room_;
  int64_t next_piece_ = 0;
};

}  // namespace

std::vector<std::string> labels_of_tags(const std::vector<TaggedPart>& parts) {
  std::vector<std::string> names;
  int64_t largest = -1;
  bool are_numbers = true;
  for (const TaggedPart& part : parts) {
    for (const TagName& tag : part.rows.names()) {
      const auto number = number_of(tag.name);
      are_numbers = are_numbers && tag.is_number && number && *number >= 0;
      largest = are_numbers ? std::max(largest, static_cast<int64_t>(*number)) : -1;
      names.push_back(tag.name);
    }
  }
  if (!are_numbers || largest >= kMostNumbered) {
    return sorted_labels(std::move(names));
  }
  names.clear();  // a number that the data happens not to have keeps its place
  for (int64_t number = 0; number <= largest; ++number) {
    names.push_back(text(number));
  }
  return names;
}

void fit_part(TaggedPart& part,
              const TaggedSettings& settings,
              int64_t room,
              const Labels& labels,
              const Tokenizer& tokenizer) {
  read_tags(part, labels);
  Pieces pieces = tokenize_words(part.rows, tokenizer);
  part.ids = std::move(pieces.ids);
  part.counts = std::move(pieces.counts);
  part.no_pieces = std::count(part.counts.begin(), part.counts.end(), 0);
  Fitter fitter(part, settings.overflow, room);
  for (int64_t sentence = 0; sentence < part.rows.size(); ++sentence) {
    fitter.add(sentence);
  }
}

}  // namespace weft::data
