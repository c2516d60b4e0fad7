#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/section.h"
#include "data/datasets/corruption_dataset.h"
#include "data/datasets/language_dataset.h"
#include "objectives/data/datasets.h"

namespace weft::objectives {

/// Datasets of running text, and of pairs of texts.

/// How sequences are made of text for the model; without masks.
data::LanguageSettings language_settings(const DatasetInputs& inputs);

/// Running text with masked tokens, and a task on pairs of texts.
Datasets masked_datasets(const DatasetInputs& inputs,
                         const data::MaskOptions& mask,
                         data::PairTask pair);

/// Running text without targets of its own.
Datasets plain_datasets(const DatasetInputs& inputs);

/// Running text whose next tokens are predicted.
Datasets causal_datasets(const DatasetInputs& inputs);

/// Throws config::Error where data.* splits documents that are predicted token by token as it
/// cannot be done.
void check_causal_data(const config::Section& section, const data::DataOptions& options);

/// Running text with its corruption as the source. `make`: for this first decoder input.
using CorruptionMaker = std::function<std::unique_ptr<data::Corruption>(int64_t start_id)>;
Datasets corrupted_datasets(const DatasetInputs& inputs, const CorruptionMaker& make);

/// What is put around the texts of a pair.
struct PairOptions {
  std::string source_prefix = {};  // prepended to every source text
  /// Language tokens (mBART); empty: the tokenizer's default.
  std::string source_language = {};
  std::string target_language = {};
};

/// Pairs of a source and a target.
Datasets parallel_datasets(const DatasetInputs& inputs, const PairOptions& options);

}  // namespace weft::objectives
