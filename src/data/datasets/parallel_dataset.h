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
  int64_t length = 512;  // longest of either side, special tokens counted
  Overflow overflow = Overflow::kCut;
  std::string prefix = {};  // before every source text
  int64_t start_id = 0;     // what the decoder begins with; negative: the target's last token
  /// Tokens that stand for the languages in the tokenizer's template (mBART); empty: as it is.
  std::string source_language = {};
  std::string target_language = {};
  bool takes_item_languages = false;  // those that an item names stand before these
  /// One sequence of both for a decoder without an encoder: the source, what ends a text, the
  /// target, which alone is guessed, and what ends it. `length` is that of the sequence.
  bool is_joined = false;
};

/// Pairs of texts for models with an encoder and a decoder: `source_ids` is the source between its
/// special tokens; `targets` is the target between its own, and `ids` that one place later, behind
/// what the decoder begins with. Pairs with an empty side are left out and counted. Throws
/// data::Error as open_parallel_text, and for languages that the tokenizer does not know.
std::shared_ptr<const Dataset> make_parallel_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const ParallelSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress = {});

/// The special tokens around one text, that of its language exchanged for another where one is
/// named. Throws data::Error at `key` where the tokenizer has no such token or no place for it.
struct Enclosure {
  std::vector<int64_t> before;
  std::vector<int64_t> after;

  int64_t size() const { return static_cast<int64_t>(before.size() + after.size()); }
  bool operator==(const Enclosure&) const = default;
};
Enclosure enclosure_of(const Tokenizer& tokenizer,
                       const std::string& language,
                       const std::string& key);

/// What stands between source and target of a joined pair: the token that ends a text. Throws
/// data::Error where the tokenizer has none.
int64_t joining_id(const Tokenizer& tokenizer);

}  // namespace weft::data
