#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/section.h"
#include "data/datasets/masking.h"
#include "models/config/options.h"
#include "objectives/incompatibility.h"

namespace weft::objectives {

/// Size of ELECTRA's generator (arXiv:2003.10555, section 3.2). Sizes that are not given are
/// size_ratio times the discriminator's; the number of layers is the same.
struct GeneratorOptions {
  std::optional<double> size_ratio = {};  // nullopt: as published for that width (appendix A)
  std::optional<int64_t> dim = {};
  std::optional<int64_t> heads = {};
  std::optional<int64_t> width = {};
  std::optional<int64_t> layers = {};
  std::optional<models::EmbeddingSharing> sharing = {};  // nullopt: kShared
};

struct ReplacedTokenOptions {
  data::MaskOptions mask = {.mask_token_prob = 1, .random_token_prob = 0};  // section 2
  double weight = 50;  // of the discriminator's loss, relative to the generator's
  GeneratorOptions generator = {};
};

/// Throws config::Error.
ReplacedTokenOptions read_replaced_token_options(config::Section& section);

/// The generator of a discriminator, with embeddings of the same shape.
models::ModelOptions generator_options(const GeneratorOptions& wanted,
                                       const models::ModelOptions& discriminator);

/// Whether the generator would be no valid model.
std::optional<Incompatibility> generator_incompatibility(const GeneratorOptions& wanted,
                                                         const models::ModelOptions& model);

/// Takes the shape of the generator stored with a discriminator, if there is one; what is given may
/// only repeat it. Throws config::Error.
void match_stored_generator(const config::Section& section,
                            const std::string& directory,
                            GeneratorOptions& generator);

}  // namespace weft::objectives
