#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/masking.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Role of the second text of a sequence.
enum class PairTask {
  kNone,
  // The second text follows the first (label 0), or comes from another document (label 1):
  // arXiv:1810.04805.
  kNextSentence,
  // Both texts in order (label 0), or swapped (label 1): arXiv:1909.11942.
  kSentenceOrder,
};

struct LanguageSettings {
  int64_t length = 512;  // longest sequence, special tokens included
  PairTask pair = PairTask::kNone;
  std::optional<MaskOptions> mask = std::nullopt;  // nullopt: no targets
  bool has_token_type_ids = true;                  // segment ids in the examples
  uint64_t seed = 1;
  bool counts_texts = false;  // next-token prediction: attach the text counts to the first example
  /// Language names in id order, for models with language ids: these are the token types.
  std::vector<std::string> languages = {};
  bool restarts_positions = false;  // positions of a translation within the sequence restart at 0
};

/// Passed to the progress callback during long preparation.
struct Progress {
  std::string activity;  // "tokenizing corpus.txt"
  double fraction = 0;   // 0 to 1; negative: unknown
};
using ProgressVisitor = std::function<void(const Progress&)>;

/// Running text (plain lines, or the text column of tables, where each row is a document) as
/// sequences for language modelling. Texts are tokenised once into the token store. Throws
/// data::Error if the files contain no usable text.
std::shared_ptr<const Dataset> make_language_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress = {});

/// Visits every text of the items as written in the files (for training a tokenizer).
void visit_texts(const std::vector<DataItem>& items,
                 const DataOptions& options,
                 const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
