#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/datasets/language_dataset.h"
#include "data/store/token_store.h"
#include "data/tokenizer.h"

namespace weft::data {

/// The pairs of a data item as tokens, without special ones, in the order of the files. In their
/// token store each pair is two sentences, either of which may be empty, and each file a document.
class ParallelText {
 public:
  ParallelText(std::shared_ptr<const TokenStore> store,
               std::vector<std::string> files,
               bool cuts_begin);

  int64_t pairs() const { return store_->sentences() / 2; }
  int64_t source_size(int64_t pair) const { return size_of(2 * pair); }
  int64_t target_size(int64_t pair) const { return size_of(2 * pair + 1); }
  /// Append at most so many tokens of a text: the first ones, or where the tokenizer cuts its begin
  /// the last.
  void read_source(int64_t pair, int64_t most, std::vector<int64_t>& ids) const;
  void read_target(int64_t pair, int64_t most, std::vector<int64_t>& ids) const;
  /// `train.en, line 12`.
  std::string place(int64_t pair) const;
  uint64_t fingerprint() const { return store_->fingerprint(); }

 private:
  void read(int64_t sentence, int64_t most, std::vector<int64_t>& ids) const;
  int64_t size_of(int64_t sentence) const {
    return store_->first_token(sentence + 1) - store_->first_token(sentence);
  }

  std::shared_ptr<const TokenStore> store_;
  std::vector<std::string> files_;
  bool cuts_begin_;
};

/// Tokenises the item's pairs once, on all cores, into a token store. `prefix` stands before every
/// source text and is tokenised with it. Throws as open_token_store and ParallelReader do; what had
/// to be repaired is in `remarks`.
std::shared_ptr<const ParallelText> open_parallel_text(const DataItem& item,
                                                       const DataOptions& options,
                                                       const std::string& prefix,
                                                       const Tokenizer& tokenizer,
                                                       const ProgressVisitor& progress,
                                                       std::vector<std::string>& remarks);

}  // namespace weft::data
