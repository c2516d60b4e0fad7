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

/// Running text for guessing the next token. A document is its tokens with what the tokenizer's
/// template puts around them, and the end-of-text token after them (where the template ends in no
/// token of its own).
///
/// Pack::kDocument: a sequence is one document, whose tokens but the last are read, and but the
/// first are guessed. What is longer than `length` tokens is cut to these, left out, or split into
/// sequences that read `length` tokens each and guess the ones after them, so that none but the
/// first goes unguessed. Pack::kStream: the documents one after another are split like that.
///
/// Where all of the text is guessed and was counted, the first example of a source has the counts
/// as its `values` (text_counts.h), the others have zeros.
class CausalDataset : public Dataset {
 public:
  /// Throws data::Error: pack none.
  CausalDataset(const std::vector<LanguageSource>& sources,
                const LanguageShape& shape,
                const LanguageSettings& settings,
                const Tokenizer& tokenizer);

  int64_t size(int64_t epoch) const override;
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string place(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  /// Places count the tokens of the documents with what stands around them.
  struct Range {
    int64_t begin = 0;
    int64_t tokens = 0;  // that are read; one more is guessed
  };
  struct Part {
    LanguageSource source;
    std::vector<Range> ranges;
    int64_t cut = 0;
    int64_t dropped = 0;
  };
  int64_t frame() const { return static_cast<int64_t>(before_.size() + after_.size()); }
  /// Place of a document's first token.
  int64_t begin_of(const TokenStore& store, int64_t document) const;
  int64_t document_at(const TokenStore& store, int64_t place) const;
  void split(int64_t begin, int64_t end, Part& part) const;
  void add_documents(Part& part) const;
  std::vector<int64_t> read(const TokenStore& store, int64_t begin, int64_t end) const;
  bool knows_counts(const LanguageSettings& settings) const;

  LanguageShape shape_;
  int64_t length_;
  bool has_types_;
  bool has_counts_ = false;
  std::vector<int64_t> before_;
  std::vector<int64_t> after_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

/// As make_language_dataset; documents are tokenised whole. Throws data::Error.
std::shared_ptr<const Dataset> make_causal_dataset(const std::vector<DataItem>& items,
                                                   const DataOptions& options,
                                                   const LanguageSettings& settings,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress = {});

/// The options with which the stores of such data are opened: documents whole.
DataOptions whole_documents(DataOptions options);

}  // namespace weft::data
