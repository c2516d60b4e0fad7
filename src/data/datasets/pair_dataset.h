#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/datasets/language_source.h"
#include "data/datasets/masking.h"
#include "data/datasets/sequence_template.h"
#include "data/mixture.h"
#include "data/rows/sentence_pairs.h"

namespace weft::data {

/// Pairs of texts for next-sentence (arXiv:1810.04805, section 3.1) or sentence-order prediction
/// (arXiv:1909.11942, section 3.1).
///
/// An item is a chunk of consecutive sentences. Each epoch draws a new split point, and, for
/// next-sentence prediction, with probability 1/2 replaces the second part by sentences of another
/// document (of the same source if possible). Negatives are drawn like positives: a chunk is drawn
/// and split, and as many of its sentences are taken as fit into the pair. So negatives look like
/// true successors: headings and other one-sentence documents, which have no successor and are
/// dropped, cannot reveal the label. A pair that is too long loses tokens of its longer text, one
/// by one, at a random end, so that neither the first nor the last words of a text reveal the
/// label.
class PairDataset : public Dataset {
 public:
  PairDataset(const std::vector<LanguageSource>& sources,
              const LanguagePacking& packing,
              const LanguageSettings& settings,
              const Tokenizer& tokenizer);

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  struct Part {
    LanguageSource source;
    Chunks document_chunks;
  };
  struct Pair {
    TokenSpan first;
    TokenSpan second;
    int64_t label = 0;
  };

  Random item_random(int64_t epoch, const Mixture::Entry& entry) const;
  Pair sample_pair(const Mixture::Entry& entry, Random& random) const;
  TokenSpan sample_negative(const Mixture::Entry& entry, int64_t tokens, Random& random) const;
  static int64_t size_of(const Part& part);
  /// First chunk of the document that contains a chunk, and one past its last chunk.
  static std::pair<int64_t, int64_t> chunks_of_document(const Part& part, int64_t chunk);
  void check(const std::vector<LanguageSource>& sources) const;

  LanguageSettings settings_;
  SequenceTemplate template_;
  int64_t max_tokens_;
  std::optional<Masker> masker_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
