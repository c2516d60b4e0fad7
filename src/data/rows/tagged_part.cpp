#include "data/rows/tagged_part.h"

#include <algorithm>
#include <numeric>

#include "base/string_util.h"
#include "base/threads.h"
#include "data/error.h"
#include "data/text/text_words.h"

namespace weft::data {
namespace {

constexpr int64_t kSentencesPerBlock = 256;
constexpr int64_t kMaxNumericTags = 10'000;  // maximum number of numeric tags

struct Pieces {
  std::vector<int32_t> ids;
  std::vector<int32_t> counts;
};

/// Tokenises on all cores.
Pieces tokenize_words(const TaggedRows& rows, const Tokenizer& tokenizer) {
  const WordEncoder encoder(tokenizer);
  const int64_t blocks = (rows.size() + kSentencesPerBlock - 1) / kSentencesPerBlock;
  std::vector<Pieces> parts(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      Pieces& part = parts[static_cast<std::size_t>(block)];
      const int64_t last = std::min((block + 1) * kSentencesPerBlock, rows.size());
      for (int64_t word = rows.begin(block * kSentencesPerBlock); word < rows.begin(last); ++word) {
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

/// Ids of the part's tag names; a number in a JSON file that is not a name is an id itself.
std::vector<int32_t> ids_of_names(const TaggedRows& rows, const Labels& labels) {
  std::vector<int32_t> ids;
  for (const TagName& tag : rows.names()) {
    auto id = labels.find(tag.name);
    if (!id && tag.is_number) {
      const auto number = parse_number(tag.name);
      const bool is_id =
          number && *number >= 0 && *number < static_cast<double>(labels.names().size());
      id = is_id ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
    }
    ids.push_back(static_cast<int32_t>(id.value_or(-1)));
  }
  return ids;
}

/// Truncates or splits the sentences of one part into sequences.
class SequenceTruncator {
 public:
  SequenceTruncator(TaggedPart& part, Truncation truncation, int64_t max_tokens)
      : part_(part), truncation_(truncation), max_tokens_(max_tokens) {}

  void add(int64_t sentence, bool is_read) {
    TaggedSequence whole{.first_word = part_.rows.begin(sentence), .first_piece = next_piece_};
    whole.words = part_.rows.end(sentence) - whole.first_word;
    for (int64_t word = 0; word < whole.words; ++word) {
      whole.pieces += count(whole.first_word + word);
    }
    next_piece_ += whole.pieces;
    if (!is_read) {
      return;
    }
    if (whole.pieces == 0) {
      ++part_.empty;
    } else if (whole.pieces <= max_tokens_) {
      part_.sequences.push_back(whole);
    } else {
      truncate_long(whole);
    }
  }

 private:
  int64_t count(int64_t word) const { return part_.counts[static_cast<std::size_t>(word)]; }

  void truncate_long(const TaggedSequence& whole) {
    switch (truncation_) {
      case Truncation::kDrop:
        ++part_.dropped;
        return;
      case Truncation::kTruncate: {
        ++part_.truncated;
        const auto kept = truncate(whole, max_tokens_);
        part_.truncated_words += whole.words - kept.words;
        part_.sequences.push_back(kept);
        return;
      }
      case Truncation::kSplit:
        ++part_.split;
        split(whole);
        return;
    }
  }

  /// Keeps the words that begin within `max_tokens` pieces; the last one may be truncated.
  TaggedSequence truncate(TaggedSequence sequence, int64_t max_tokens) const {
    int64_t words = 0;
    int64_t pieces = 0;
    while (words < sequence.words && pieces < max_tokens) {
      pieces += count(sequence.first_word + words);
      ++words;
    }
    sequence.words = words;
    sequence.pieces = std::min(pieces, max_tokens);
    return sequence;
  }

  void split(const TaggedSequence& whole) {
    const auto first = part_.counts.begin() + whole.first_word;
    const std::vector<int32_t> counts(first, first + whole.words);
    int64_t begin = 0;
    int64_t piece = whole.first_piece;
    for (const int64_t end : chunk_words(counts, max_tokens_)) {
      const auto pieces = std::accumulate(counts.begin() + begin, counts.begin() + end, int64_t{0});
      if (pieces > 0) {
        part_.sequences.push_back({.first_word = whole.first_word + begin,
                                   .words = end - begin,
                                   .first_piece = piece,
                                   .pieces = std::min(pieces, max_tokens_)});
      }
      begin = end;
      piece += pieces;
    }
  }

  TaggedPart& part_;
  Truncation truncation_;
  int64_t max_tokens_;
  int64_t next_piece_ = 0;
};

}  // namespace

std::vector<std::string> collect_tag_labels(const std::vector<TaggedPart>& parts) {
  std::vector<std::string> names;
  int64_t largest = -1;
  bool are_numbers = true;
  for (const TaggedPart& part : parts) {
    for (const TagName& tag : part.rows.names()) {
      const auto number = parse_number(tag.name);
      are_numbers = are_numbers && tag.is_number && number && *number >= 0;
      largest = are_numbers ? std::max(largest, static_cast<int64_t>(*number)) : -1;
      names.push_back(tag.name);
    }
  }
  if (!are_numbers || largest >= kMaxNumericTags) {
    return sorted_labels(std::move(names));
  }
  names.clear();  // a tag number without examples keeps its id
  for (int64_t number = 0; number <= largest; ++number) {
    names.push_back(str_cat(number));
  }
  return names;
}

bool has_all_tags(const Labels& labels, const std::vector<TaggedPart>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const TaggedPart& part) {
    const auto ids = ids_of_names(part.rows, labels);
    return std::find(ids.begin(), ids.end(), -1) == ids.end();
  });
}

void read_tags(TaggedPart& part, const Labels& labels) {
  const auto ids = ids_of_names(part.rows, labels);
  const auto count = part.rows.end(part.rows.size() - 1);
  part.tags.reserve(static_cast<std::size_t>(count));
  for (int64_t word = 0; word < count; ++word) {
    const auto name = static_cast<std::size_t>(part.rows.tag(word));
    if (ids[name] < 0) {
      labels.throw_unknown(part.rows.names()[name].name, part.rows.location(word));
    }
    part.tags.push_back(ids[name]);
  }
}

void tokenize_and_truncate(TaggedPart& part,
                           const DataItem& item,
                           const TaggedSettings& settings,
                           int64_t max_tokens,
                           const Tokenizer& tokenizer) {
  Pieces pieces = tokenize_words(part.rows, tokenizer);
  part.ids = std::move(pieces.ids);
  part.counts = std::move(pieces.counts);
  part.words_without_pieces = std::count(part.counts.begin(), part.counts.end(), 0);
  SequenceTruncator truncator(part, settings.truncation, max_tokens);
  for (int64_t sentence = 0; sentence < part.rows.size(); ++sentence) {
    truncator.add(sentence, item.reads_row(sentence));
  }
}

}  // namespace weft::data
