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
  std::string language = {};         // of its texts, where the user named it
  std::vector<std::string> remarks;  // what opening the store had to say
  TextCounts counts = {};            // of its texts, where they were counted
};

/// How running text becomes sequences.
struct LanguageShape {
  Pack pack = Pack::kDocument;
  Overflow overflow = Overflow::kSplit;
};

/// Sequences of running text, whatever the stores lie on: what make_language_dataset gives once the
/// stores are open. Throws data::Error where they hold nothing to learn from.
std::shared_ptr<const Dataset> make_language_dataset(const std::vector<LanguageSource>& sources,
                                                     const LanguageShape& shape,
                                                     const LanguageSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer);

/// The stores of data items with their weights; where DataOptions says so, weights that mix
/// languages.
std::vector<LanguageSource> open_language_sources(const std::vector<DataItem>& items,
                                                  const DataOptions& options,
                                                  const Tokenizer& tokenizer,
                                                  const ProgressVisitor& progress);

/// Weights with which each language is seen in proportion to its tokens to the power alpha, an
/// epoch staying as large as it was. Weights of items of one language keep their ratio.
void mix_languages(const std::vector<DataItem>& items,
                   double alpha,
                   std::vector<LanguageSource>& sources);

/// Throws data::Error where the sources gave no sequence.
void refuse_empty(const Dataset& dataset, const std::vector<LanguageSource>& sources);

/// Hash of all that decides the examples.
uint64_t language_fingerprint(const std::vector<LanguageSource>& sources,
                              const LanguageShape& shape,
                              const LanguageSettings& settings,
                              const Tokenizer& tokenizer);

/// Tokens of text in a sequence of `length` with `added` special ones. Throws data::Error where
/// fewer than `least` are left.
int64_t room_for_text(int64_t length, int64_t added, int64_t least);

}  // namespace weft::data
