#include "data/rows/sentence_pairs.h"

#include <limits>

#include "base/random.h"

namespace weft::data {
namespace {

constexpr double kShortFraction = 0.1;
// Target lengths are drawn once per run: the key uses a value that is not an epoch.
constexpr uint64_t kChunkingEpoch = std::numeric_limits<uint64_t>::max();

uint32_t sample_target_length(const ChunkSettings& settings, int64_t first) {
  Random random(settings.seed, RandomPurpose::kPair, kChunkingEpoch, static_cast<uint64_t>(first));
  const auto max_tokens = static_cast<uint64_t>(settings.max_tokens);
  if (random.uniform_double() >= kShortFraction) {
    return static_cast<uint32_t>(max_tokens);
  }
  return static_cast<uint32_t>(2 + random.uniform_int(max_tokens - 1));
}

void chunk_document(const TokenStore& store,
                    const ChunkSettings& settings,
                    int64_t document,
                    Chunks& result) {
  const int64_t first = store.first_sentence(document);
  const int64_t last = store.first_sentence(document + 1);
  if (last - first == 1) {
    ++result.single_sentence;
    return;
  }
  ++result.documents;
  int64_t begin = first;
  uint32_t target = sample_target_length(settings, begin);
  for (int64_t end = first + 1; end <= last; ++end) {
    const bool is_full = store.first_token(end) - store.first_token(begin) >= target;
    if (end < last && !(is_full && end - begin >= 2)) {
      continue;
    }
    begin = end - begin == 1 ? begin - 1 : begin;
    result.chunks.push_back({begin, static_cast<uint32_t>(end - begin), target});
    if (settings.truncation == Truncation::kTruncate) {
      result.truncated += end < last ? 1 : 0;
      return;
    }
    begin = end;
    target = sample_target_length(settings, begin);
  }
}

}  // namespace

Chunks chunk_documents(const TokenStore& store, const ChunkSettings& settings) {
  Chunks result;
  for (int64_t document = 0; document < store.documents(); ++document) {
    const int64_t tokens = store.first_token(store.first_sentence(document + 1)) -
                           store.first_token(store.first_sentence(document));
    if (settings.truncation == Truncation::kDrop && tokens > settings.max_tokens) {
      ++result.dropped;
    } else {
      chunk_document(store, settings, document, result);
    }
  }
  return result;
}

}  // namespace weft::data
