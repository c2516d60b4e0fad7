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

/// Tokenised pairs of a data item, without special tokens, in file order. In the token store each
/// pair is two sentences, either of which may be empty, and each file is a document.
class ParallelText {
 public:
  ParallelText(std::shared_ptr<const TokenStore> store,
               std::vector<std::string> files,
               bool truncates_left);

  int64_t pairs() const { return store_->sentences() / 2; }
  int64_t source_size(int64_t pair) const { return size_of(2 * pair); }
  int64_t target_size(int64_t pair) const { return size_of(2 * pair + 1); }
  /// Append at most `max_tokens` tokens of a text: the first ones, or the last ones if the
  /// tokenizer truncates on the left.
  void read_source(int64_t pair, int64_t max_tokens, std::vector<int64_t>& ids) const;
  void read_target(int64_t pair, int64_t max_tokens, std::vector<int64_t>& ids) const;
  /// Location such as `train.en, line 12`.
  std::string location(int64_t pair) const;
  uint64_t fingerprint() const { return store_->fingerprint(); }

 private:
  void read(int64_t sentence, int64_t max_tokens, std::vector<int64_t>& ids) const;
  int64_t size_of(int64_t sentence) const {
    return store_->first_token(sentence + 1) - store_->first_token(sentence);
  }

  std::shared_ptr<const TokenStore> store_;
  std::vector<std::string> files_;
  bool truncates_left_;
};

/// Tokenises the item's pairs once, on all cores, into a token store. `prefix` is prepended to
/// every source text and tokenised with it. Throws like open_token_store and ParallelReader;
/// repairs are reported in `remarks`.
std::shared_ptr<const ParallelText> open_parallel_text(const DataItem& item,
                                                       const DataOptions& options,
                                                       const std::string& prefix,
                                                       const Tokenizer& tokenizer,
                                                       const ProgressVisitor& progress,
                                                       std::vector<std::string>& remarks);

}  // namespace weft::data
