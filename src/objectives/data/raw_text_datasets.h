#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// The datasets of make_datasets for objectives on running text other than masked tokens (next
/// token, corruption), and on parallel lines read as one text.
struct RawTextSettings {
  int64_t length = 0;
  uint64_t seed = 1;
};
Datasets raw_text_datasets(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           const RawTextSettings& settings,
                           const data::ProgressVisitor& progress);

/// Whether a decoder without an encoder learns to continue prefixes with bidirectional attention.
bool is_decoder_prefix_lm(const ObjectiveOptions& objective, const models::ModelOptions& model);

/// Options for opening the token stores of running text.
data::DataOptions store_options(const ObjectiveOptions& objective,
                                const data::DataOptions& options,
                                const models::ModelOptions& model);

}  // namespace weft::objectives
