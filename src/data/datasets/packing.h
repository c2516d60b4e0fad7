#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/datasets/language_source.h"
#include "data/mixture.h"
#include "data/store/token_store.h"

namespace weft::data {

/// Range of tokens of a store that forms one sequence.
struct PackedRange {
  int64_t begin = 0;  // first token
  uint32_t tokens = 0;
  uint32_t length = 0;  // including the separators between documents
};

struct PackingSettings {
  Pack pack = Pack::kDocument;
  Truncation truncation = Truncation::kSplit;
  int64_t max_tokens = 0;          // tokens of a sequence, without those that the template adds
  bool inserts_separator = false;  // kStream: one token between documents
};

struct PackedSequences {
  std::vector<PackedRange> ranges;
  int64_t truncated = 0;  // texts that were truncated
  int64_t dropped = 0;    // texts that were dropped
};

/// Packs running text into sequences, in the order of the store. The unit that may be too long is a
/// sentence for kNone and kStream, a document for kDocument: kTruncate keeps its first `max_tokens`
/// tokens, kDrop drops it, kSplit fills one sequence after another with whole sentences and splits
/// only sentences that are longer than `max_tokens`.
PackedSequences pack_sequences(const TokenStore& store, const PackingSettings& settings);

/// Document that contains a token.
int64_t document_of_token(const TokenStore& store, int64_t token);
/// Document that contains a sentence.
int64_t document_of_sentence(const TokenStore& store, int64_t sentence);
/// `train.txt, document 2, sentence 5`, for messages.
std::string location_of_sentence(const LanguageSource& source, int64_t sentence);

/// Sources of running text, packed into sequences and mixed by their weights.
class PackedText {
 public:
  PackedText(const std::vector<LanguageSource>& sources,
             const PackingSettings& settings,
             uint64_t seed);

  int64_t size() const { return mixture_->size(); }
  Mixture::Entry locate(int64_t epoch, int64_t item) const { return mixture_->locate(epoch, item); }
  const TokenStore& store(const Mixture::Entry& entry) const {
    return *parts_[entry.part].source.store;
  }
  const PackedRange& range(const Mixture::Entry& entry) const {
    return parts_[entry.part].packed.ranges[static_cast<std::size_t>(entry.index)];
  }
  std::string location(int64_t epoch, int64_t item) const;
  /// `longest`: limit that the messages name.
  std::vector<std::string> remarks(int64_t longest) const;

 private:
  struct Part {
    LanguageSource source;
    PackedSequences packed;
  };
  Pack pack_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
