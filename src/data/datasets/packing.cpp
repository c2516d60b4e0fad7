#include "data/datasets/packing.h"

#include <algorithm>

#include "base/string_util.h"
#include "base/threads.h"
#include "data/remark.h"

namespace weft::data {
namespace {

constexpr int64_t kDocumentsPerBlock = 8192;

/// Fills sequences one after another, in order.
class Packer {
 public:
  Packer(const TokenStore& store, const PackingSettings& settings)
      : store_(store), settings_(settings) {}

  void add(int64_t document) {
    const int64_t first = store_.first_sentence(document);
    const int64_t last = store_.first_sentence(document + 1);
    if (settings_.pack == Pack::kDocument && settings_.truncation != Truncation::kSplit) {
      add_whole(store_.first_token(first), store_.first_token(last));
      return;
    }
    int64_t begin = store_.first_token(first);
    for (int64_t sentence = first; sentence < last; ++sentence) {
      const int64_t end = store_.first_token(sentence + 1);
      if (settings_.pack == Pack::kNone) {
        add_whole(begin, end);
      } else {
        fill(begin, end, sentence == first);
      }
      begin = end;
    }
    if (settings_.pack == Pack::kDocument) {
      close();
    }
  }

  PackedSequences finish() {
    close();
    return std::move(packed_);
  }

 private:
  void push(int64_t begin, int64_t tokens, int64_t length) {
    packed_.ranges.push_back({begin, static_cast<uint32_t>(tokens), static_cast<uint32_t>(length)});
  }

  void close() {
    if (open_.tokens > 0) {
      packed_.ranges.push_back(open_);
    }
    open_ = {};
  }

  /// Adds a text that shares its sequences with no other.
  void add_whole(int64_t begin, int64_t end) {
    if (end - begin <= settings_.max_tokens) {
      push(begin, end - begin, end - begin);
      return;
    }
    switch (settings_.truncation) {
      case Truncation::kTruncate:
        push(begin, settings_.max_tokens, settings_.max_tokens);
        ++packed_.truncated;
        break;
      case Truncation::kDrop:
        ++packed_.dropped;
        break;
      case Truncation::kSplit:
        for (; begin < end; begin += settings_.max_tokens) {
          const int64_t tokens = std::min(settings_.max_tokens, end - begin);
          push(begin, tokens, tokens);
        }
        break;
    }
  }

  /// Adds a sentence to the open sequence if it fits.
  void fill(int64_t begin, int64_t end, bool begins_document) {
    const int64_t tokens = end - begin;
    const int64_t separator =
        begins_document && settings_.inserts_separator && open_.tokens > 0 ? 1 : 0;
    if (open_.tokens > 0 && open_.length + separator + tokens <= settings_.max_tokens) {
      open_.tokens += static_cast<uint32_t>(tokens);
      open_.length += static_cast<uint32_t>(separator + tokens);
      return;
    }
    close();
    if (tokens > settings_.max_tokens) {
      add_whole(begin, end);
      if (settings_.truncation == Truncation::kSplit) {  // the last piece may leave capacity
        open_ = packed_.ranges.back();
        packed_.ranges.pop_back();
      }
      return;
    }
    open_ = {begin, static_cast<uint32_t>(tokens), static_cast<uint32_t>(tokens)};
  }

  const TokenStore& store_;
  const PackingSettings& settings_;
  PackedSequences packed_;
  PackedRange open_;
};

PackedSequences pack_documents(const TokenStore& store,
                               const PackingSettings& settings,
                               int64_t begin,
                               int64_t end) {
  Packer packer(store, settings);
  for (int64_t document = begin; document < end; ++document) {
    packer.add(document);
  }
  return packer.finish();
}

/// Returns the last index in [0, count) whose begin is at most `position`.
template <class Begin>
int64_t last_not_after(int64_t count, int64_t position, const Begin& begin) {
  int64_t low = 0;
  int64_t high = count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (begin(middle) <= position ? low : high) = middle;
  }
  return low;
}

}  // namespace

PackedSequences pack_sequences(const TokenStore& store, const PackingSettings& settings) {
  if (settings.pack == Pack::kStream) {  // each sequence begins at the end of the one before
    return pack_documents(store, settings, 0, store.documents());
  }
  const int64_t blocks = (store.documents() + kDocumentsPerBlock - 1) / kDocumentsPerBlock;
  std::vector<PackedSequences> parts(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kDocumentsPerBlock;
      parts[static_cast<std::size_t>(block)] = pack_documents(
          store, settings, first, std::min(first + kDocumentsPerBlock, store.documents()));
    }
  });
  std::size_t total = 0;
  for (const PackedSequences& part : parts) {
    total += part.ranges.size();
  }
  PackedSequences all;
  all.ranges.reserve(total);
  for (const PackedSequences& part : parts) {
    all.ranges.insert(all.ranges.end(), part.ranges.begin(), part.ranges.end());
    all.truncated += part.truncated;
    all.dropped += part.dropped;
  }
  return all;
}

int64_t document_of_token(const TokenStore& store, int64_t token) {
  return last_not_after(store.documents(), token, [&](int64_t document) {
    return store.first_token(store.first_sentence(document));
  });
}

int64_t document_of_sentence(const TokenStore& store, int64_t sentence) {
  return last_not_after(store.documents(), sentence,
                        [&](int64_t document) { return store.first_sentence(document); });
}

std::string location_of_sentence(const LanguageSource& source, int64_t sentence) {
  const int64_t document = document_of_sentence(*source.store, sentence);
  return str_cat(source.name, ", document ", document + 1, ", sentence ",
                 sentence - source.store->first_sentence(document) + 1);
}

PackedText::PackedText(const std::vector<LanguageSource>& sources,
                       const PackingSettings& settings,
                       uint64_t seed)
    : pack_(settings.pack) {
  std::vector<MixturePart> mixture_parts;
  for (const LanguageSource& source : sources) {
    parts_.push_back({source, pack_sequences(*source.store, settings)});
    mixture_parts.push_back(
        {static_cast<int64_t>(parts_.back().packed.ranges.size()), source.weight});
  }
  mixture_.emplace(mixture_parts, seed);
}

std::string PackedText::location(int64_t epoch, int64_t item) const {
  const Mixture::Entry entry = locate(epoch, item);
  return str_cat(parts_[entry.part].source.name, ", document ",
                 document_of_token(store(entry), range(entry).begin) + 1, ", sequence ",
                 entry.index + 1);
}

std::vector<std::string> PackedText::remarks(int64_t longest) const {
  const std::string_view noun = pack_ == Pack::kDocument ? "document" : "sentence";
  const std::string longer = str_cat("longer than ", longest, " tokens");
  std::vector<std::string> remarks;
  for (const auto& [source, packed] : parts_) {
    remarks.insert(remarks.end(), source.remarks.begin(), source.remarks.end());
    add_remarks(
        remarks, source.name,
        {.noun = noun, .which = longer, .truncated = packed.truncated, .dropped = packed.dropped});
  }
  return remarks;
}

}  // namespace weft::data
