#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

struct ParallelSettings {
  int64_t length = 512;  // longest of either side, special tokens included
  Truncation truncation = Truncation::kTruncate;
  std::string prefix = {};  // prepended to every source text
  int64_t start_id = 0;     // first decoder input; negative: the target's last token
  /// Language tokens in the tokenizer's template (mBART); empty: unchanged.
  std::string source_language = {};
  std::string target_language = {};
  bool takes_item_languages = false;  // the item's languages take precedence over these
  /// One sequence of both for a decoder-only model: source, end token, target, end token; only the
  /// target is predicted. `length` is that of the sequence.
  bool is_joined = false;
};

/// Pairs of texts for encoder-decoder models: `source_ids` is the source with its special tokens;
/// `targets` is the target with its own, and `ids` is the target shifted right after the first
/// decoder input. Pairs with an empty side are dropped and counted. Throws data::Error like
/// open_parallel_text, and for languages that the tokenizer does not know.
std::shared_ptr<const Dataset> make_parallel_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const ParallelSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress = {});

/// Special tokens around one text; the language token is replaced if `language` is not empty.
/// Throws data::Error at `key` if the tokenizer has no such token or no slot for it.
struct LanguageTokens {
  std::vector<int64_t> before;
  std::vector<int64_t> after;

  int64_t size() const { return static_cast<int64_t>(before.size() + after.size()); }
  bool operator==(const LanguageTokens&) const = default;
};
LanguageTokens language_tokens(const Tokenizer& tokenizer,
                               const std::string& language,
                               const std::string& key);

/// Separator between source and target of a joined pair: the token that ends a text. Throws
/// data::Error if the tokenizer has none.
int64_t separator_id(const Tokenizer& tokenizer);

}  // namespace weft::data
