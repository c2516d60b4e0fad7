#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/datasets/language_source.h"
#include "data/datasets/sequence_template.h"
#include "data/mixture.h"

namespace weft::data {

/// Running text for next-token prediction. A document is its tokens, the special tokens that the
/// tokenizer's template adds, and the end-of-text token (if the template does not end in a token of
/// its own).
///
/// Pack::kDocument: a sequence is one document; all tokens but the last are inputs, all but the
/// first are targets. Documents longer than `length` tokens are truncated, dropped, or split into
/// sequences with `length` inputs each and the following tokens as targets, so that only the first
/// token is never a target. Pack::kStream: the concatenated documents are split in this way.
///
/// If all text is predicted and was counted, the first example of a source has the counts as its
/// `values` (text_counts.h), all others have zeros.
class CausalDataset : public Dataset {
 public:
  /// Throws data::Error for Pack::kNone.
  CausalDataset(const std::vector<LanguageSource>& sources,
                const LanguagePacking& packing,
                const LanguageSettings& settings,
                const Tokenizer& tokenizer);

  int64_t size(int64_t epoch) const override;
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  /// Positions count the tokens of the documents including special tokens.
  struct Range {
    int64_t begin = 0;
    int64_t tokens = 0;  // number of inputs; there is one token more for the last target
  };
  struct Part {
    LanguageSource source;
    std::vector<Range> ranges;
    int64_t truncated = 0;
    int64_t dropped = 0;
  };
  int64_t num_special_tokens() const {
    return static_cast<int64_t>(before_.size() + after_.size());
  }
  /// Position of a document's first token.
  int64_t document_begin(const TokenStore& store, int64_t document) const;
  int64_t document_at(const TokenStore& store, int64_t position) const;
  void split(int64_t begin, int64_t end, Part& part) const;
  void add_documents(Part& part) const;
  std::vector<int64_t> read(const TokenStore& store, int64_t begin, int64_t end) const;
  bool has_text_counts(const LanguageSettings& settings) const;

  LanguagePacking packing_;
  int64_t length_;
  bool has_token_type_ids_;
  bool has_counts_ = false;
  std::vector<int64_t> before_;
  std::vector<int64_t> after_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

/// Like make_language_dataset, but documents are tokenised whole. Throws data::Error.
std::shared_ptr<const Dataset> make_causal_dataset(const std::vector<DataItem>& items,
                                                   const DataOptions& options,
                                                   const LanguageSettings& settings,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress = {});

/// Returns the options for opening the stores of such data: whole documents.
DataOptions whole_documents(DataOptions options);

/// Next-token prediction where a first part of the text is given as a prefix (prefix LM,
/// arXiv:1910.10683, section 3.2.1). The first predicted token may be any token of an example of
/// `whole` but the first; the choice is a function of (seed, epoch, item).
std::shared_ptr<const Dataset> make_prefix_dataset(std::shared_ptr<const Dataset> whole,
                                                   uint64_t seed);

/// Sequences of running text as streams that continue from step to step (truncated backpropagation
/// through time): step t of an epoch is the t-th sequence of each stream, in the order of the
/// items. Sequences at the end that would make a stream longer than others are left out. Throws
/// data::Error if there are fewer sequences than streams.
std::shared_ptr<const Dataset> make_stream_dataset(std::shared_ptr<const Dataset> whole,
                                                   int64_t streams);

}  // namespace weft::data
