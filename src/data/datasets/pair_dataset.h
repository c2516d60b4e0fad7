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
/// An item is a chunk of consecutive sentences. Each epoch draws anew where it is divided, and, for
/// the next sentence, with probability 1/2 what follows is replaced by sentences of another
/// document (of the same source where it has one). Those are found as what follows was: a chunk is
/// drawn and divided, and as many sentences are taken from there as the pair has room for. So
/// strangers look like true successors: no heading or other document of one sentence, which has no
/// successor and is left out, gives the label away. A pair too long is cut at the longer text,
/// token by token, at its front or its back by chance, so that neither the first nor the last words
/// of a text tell the label.
class PairDataset : public Dataset {
 public:
  PairDataset(const std::vector<LanguageSource>& sources,
              const LanguageShape& shape,
              const LanguageSettings& settings,
              const Tokenizer& tokenizer);

  int64_t size(int64_t epoch) const override;
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string place(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override;
  std::vector<std::string> remarks() const override;

 private:
  struct Part {
    LanguageSource source;
    Chunks divided;
  };
  struct Stretch {
    const TokenStore* store = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
    int64_t tokens() const { return end - begin; }
  };
  struct Pair {
    Stretch first;
    Stretch second;
    int64_t label = 0;
  };

  Random random(int64_t epoch, const Mixture::Place& place) const;
  Pair draw_pair(const Mixture::Place& place, Random& random) const;
  Stretch draw_stranger(const Mixture::Place& place, int64_t tokens, Random& random) const;
  static int64_t size_of(const Part& part);
  /// First chunk of the document that a chunk belongs to, and the one after its last.
  static std::pair<int64_t, int64_t> chunks_of_document(const Part& part, int64_t chunk);
  void check(const std::vector<LanguageSource>& sources) const;

  LanguageSettings settings_;
  SequenceTemplate template_;
  int64_t room_;
  std::optional<Masker> masker_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
