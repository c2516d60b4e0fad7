#include <algorithm>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "data/rows/tagged_part.h"

namespace weft::data {
namespace {

constexpr int64_t kTaggedDocumentsPerBlock = 32;

/// Tokenises on all cores.
std::vector<SentenceIds> encode_documents(const TaggedRows& rows, const SentenceEncoder& encoder) {
  std::vector<SentenceIds> documents(static_cast<std::size_t>(rows.size()));
  parallel_for(rows.size(), kTaggedDocumentsPerBlock, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::vector<std::string_view> sentences;
      for (int64_t sentence = rows.begin(row); sentence < rows.end(row); ++sentence) {
        sentences.push_back(rows.word(sentence));
      }
      documents[static_cast<std::size_t>(row)] = encoder.encode(sentences);
    }
  });
  return documents;
}

}  // namespace

void tokenize_documents(TaggedPart& part,
                        const DataItem& item,
                        const TaggedSettings& settings,
                        const SentenceEncoder& encoder) {
  const auto documents = encode_documents(part.rows, encoder);
  for (int64_t row = 0; row < part.rows.size(); ++row) {
    const auto& document = documents[static_cast<std::size_t>(row)];
    const auto sentences = part.rows.end(row) - part.rows.begin(row);
    const auto kept = std::ssize(document.lengths);
    part.counts.insert(part.counts.end(), document.lengths.begin(), document.lengths.end());
    part.counts.insert(part.counts.end(), static_cast<std::size_t>(sentences - kept), 0);
    if (!item.reads_row(row)) {
      continue;
    }
    if (document.is_shortened && settings.truncation == Truncation::kDrop) {
      ++part.dropped;
      continue;
    }
    part.truncated += document.is_shortened ? 1 : 0;
    part.truncated_words += sentences - kept;
    part.sequences.push_back({.first_word = part.rows.begin(row),
                              .words = kept,
                              .first_piece = std::ssize(part.ids),
                              .pieces = std::ssize(document.ids)});
    part.ids.insert(part.ids.end(), document.ids.begin(), document.ids.end());
  }
}

}  // namespace weft::data
