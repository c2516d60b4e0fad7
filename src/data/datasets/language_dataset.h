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

/// What a second text in a sequence is for.
enum class PairTask {
  kNone,
  // The second text follows the first (label 0), or comes from another document (label 1):
  // arXiv:1810.04805.
  kNextSentence,
  // Both texts as they stand (label 0), or swapped (label 1): arXiv:1909.11942.
  kSentenceOrder,
};

struct LanguageSettings {
  int64_t length = 512;  // longest sequence, special tokens counted
  PairTask pair = PairTask::kNone;
  std::optional<MaskOptions> mask = std::nullopt;  // nothing: no targets
  bool has_types = true;                           // segment ids in the examples
  uint64_t seed = 1;
  bool counts_texts = false;  // the next token: how much text there is, with the first example
  /// Names, by id, of the languages that the model tells apart: types are their ids.
  std::vector<std::string> languages = {};
  bool restarts_positions = false;  // a translation in the sequence of its text begins at place 0
};

/// Called now and then while a long preparation runs.
struct Progress {
  std::string doing;  // "tokenising corpus.txt"
  double share = 0;   // done, 0 to 1; negative: unknown
};
using ProgressVisitor = std::function<void(const Progress&)>;

/// Running text (plain lines; or the text column of tables, a row being a document) as sequences
/// for language modelling. Texts are tokenised once into the token store. Throws data::Error where
/// the files hold nothing to learn from.
std::shared_ptr<const Dataset> make_language_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress = {});

/// Visits every text of the items, as they stand in the files (for training a tokenizer).
void visit_texts(const std::vector<DataItem>& items,
                 const DataOptions& options,
                 const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
