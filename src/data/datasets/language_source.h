#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/store/token_store.h"
#include "data/text/text_counts.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Tokenised running text with its weight in the mixture.
struct LanguageSource {
  std::shared_ptr<const TokenStore> store;
  double weight = 1;
  std::string name;                  // as the user wrote it, for messages
  std::string language = {};         // of its texts, if the user named it
  std::vector<std::string> remarks;  // messages from opening the store
  TextCounts counts = {};            // of its texts, if they were counted
};

/// Settings for turning running text into sequences.
struct LanguagePacking {
  Pack pack = Pack::kDocument;
  Truncation truncation = Truncation::kSplit;
};

/// Builds sequences of running text from open stores; the second half of make_language_dataset.
/// Throws data::Error if the stores contain no usable text.
std::shared_ptr<const Dataset> make_language_dataset(const std::vector<LanguageSource>& sources,
                                                     const LanguagePacking& packing,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer);

/// Opens the stores of data items with their weights; if DataOptions says so, with weights that mix
/// languages.
std::vector<LanguageSource> open_language_sources(const std::vector<DataItem>& items,
                                                  const DataOptions& options,
                                                  const Tokenizer& tokenizer,
                                                  const ProgressVisitor& progress);

/// Sets the weights so that each language is sampled in proportion to (its tokens)^alpha, without
/// changing the epoch size. Weights of items of one language keep their ratio.
void mix_languages(const std::vector<DataItem>& items,
                   double alpha,
                   std::vector<LanguageSource>& sources);

/// Throws data::Error if the sources gave no sequence.
void require_not_empty(const Dataset& dataset, const std::vector<LanguageSource>& sources);

/// Hash of everything that affects the examples.
uint64_t language_fingerprint(const std::vector<LanguageSource>& sources,
                              const LanguagePacking& packing,
                              const LanguageSettings& settings,
                              const Tokenizer& tokenizer);

/// Text tokens that fit into a sequence of `length` with `added` special tokens. Throws data::Error
/// if that is less than `min_tokens`.
int64_t max_text_tokens(int64_t length, int64_t added, int64_t min_tokens);

}  // namespace weft::data
