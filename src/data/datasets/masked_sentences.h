#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/data_options.h"
#include "data/datasets/language_source.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/sequence_template.h"
#include "data/mixture.h"

namespace weft::data {

/// Masked sentences (HIBERT, arXiv:1905.06566, section 3.2): selection of the sentences of a
/// document and their replacement.
struct MaskedSentenceOptions {
  double fraction = 0.15;             // of a document's sentences; at least one, never all
  double mask_sentence_prob = 0.8;    // of the selected: each token is the mask token
  double random_sentence_prob = 0.1;  // of the selected: any other sentence; the rest are unchanged
};

/// The options for opening stores of documents whose sentences end as SentenceEncoder divides them.
DataOptions divided_into_sentences(DataOptions options);

/// Documents of running text with masked sentences. An item is a run of consecutive sentences of
/// one document, as many as the limits allow, at least two: the last run of a longer document never
/// has only one if the one before can spare a sentence. Each sentence has the special tokens of the
/// tokenizer's template; one that is too long is truncated.
///
/// The targets of an example are the tokens of its selected sentences as they were, each with the
/// special tokens after it. They all have the position of the sentence's last token.
class MaskedSentenceDataset : public Dataset {
 public:
  /// `settings`: length, has_token_type_ids, seed, languages. Throws Error: the tokenizer has no
  /// mask token or adds no token after a text, or the limits leave no space for two sentences.
  MaskedSentenceDataset(const std::vector<LanguageSource>& sources,
                        Truncation truncation,
                        const LanguageSettings& settings,
                        const SentenceLimits& limits,
                        const MaskedSentenceOptions& options,
                        const Tokenizer& tokenizer);

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  struct Run {
    int64_t first = 0;  // sentence of the store
    uint32_t sentences = 0;
    uint32_t length = 0;  // tokens, special ones included
  };
  struct Part {
    LanguageSource source;
    std::optional<int64_t> language;
    std::vector<Run> runs = {};
    int64_t single = 0;     // documents skipped: only one sentence
    int64_t alone = 0;      // sentences left out: the last one of a document, on its own
    int64_t truncated = 0;  // documents of which only the first run is kept
    int64_t dropped = 0;    // documents dropped: longer than one run
  };
  enum class Replacement { kMask, kRandom, kNone };
  struct Selected {
    int64_t sentence = 0;  // of the run
    Replacement replacement = Replacement::kNone;
    TokenSpan random = {};  // of kRandom
  };

  void add_document(int64_t document, Truncation truncation, Part& part) const;
  /// The longest run from this sentence on; `end` of its document.
  Run run_from(const TokenStore& store, int64_t first, int64_t end) const;
  /// A sentence of a store, truncated.
  TokenSpan span_of(const TokenStore& store, int64_t sentence) const;
  const Run& run_of(const Mixture::Entry& entry) const;
  std::vector<Selected> select(int64_t epoch, const Mixture::Entry& entry) const;
  /// A sentence of another run, or, if there is only one, another of this.
  TokenSpan sample_sentence(const Mixture::Entry& entry, int64_t own, Random& random) const;

  LanguageSettings settings_;
  SentenceLimits limits_;
  MaskedSentenceOptions options_;
  SequenceTemplate template_;
  int64_t mask_id_;
  int64_t longest_;  // tokens of a sentence without special ones
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  int64_t runs_ = 0;  // of all parts
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
