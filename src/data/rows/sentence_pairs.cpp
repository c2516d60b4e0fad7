#include "data/rows/sentence_pairs.h"

#include <limits>

#include "base/random.h"

namespace weft::data {
namespace {

constexpr double kShortShare = 0.1;
// Targets are drawn once for a run, at a time that is no epoch.
constexpr uint64_t kBeforeAll = std::numeric_limits<uint64_t>::max();

uint32_t draw_target(const ChunkSettings& settings, int64_t first) {
  Random random(settings.seed, Purpose::kPair, kBeforeAll, static_cast<uint64_t>(first));
  const auto room = static_cast<uint64_t>(settings.room);
  if (random.uniform_double() >= kShortShare) {
    return static_cast<uint32_t>(room);
  }
  return static_cast<uint32_t>(2 + random.below(room - 1));
}

void divide_document(const TokenStore& store,
                     const ChunkSettings& settings,
                     int64_t document,
                     Chunks& made) {
  const int64_t first = store.first_sentence(document);
  const int64_t last = store.first_sentence(document + 1);
  if (last - first == 1) {
    ++made.single;
    return;
  }
  ++made.documents;
  int64_t begin = first;
  uint32_t target = draw_target(settings, begin);
  for (int64_t end = first + 1; end <= last; ++end) {
    const bool is_full = store.first_token(end) - store.first_token(begin) >= target;
    if (end < last && !(is_full && end - begin >= 2)) {
      continue;
    }
    begin = end - begin == 1 ? begin - 1 : begin;
    made.chunks.push_back({begin, static_cast<uint32_t>(end - begin), target});
    if (settings.overflow == Overflow::kCut) {
      made.cut += end < last ? 1 : 0;
      return;
    }
    begin = end;
    target = draw_target(settings, begin);
  }
}

}  // namespace

Chunks divide_documents(const TokenStore& store, const ChunkSettings& settings) {
  Chunks made;
  for (int64_t document = 0; document < store.documents(); ++document) {
    const int64_t tokens = store.first_token(store.first_sentence(document + 1)) -
                           store.first_token(store.first_sentence(document));
    if (settings.overflow == Overflow::kDrop && tokens > settings.room) {
      ++made.dropped;
    } else {
      divide_document(store, settings, document, made);
    }
  }
  return made;
}

}  // namespace weft::data
