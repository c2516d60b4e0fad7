#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/config/options.h"
#include "models/directory.h"

namespace weft::models {

/// The generator of ELECTRA (arXiv:2003.10555) and DeBERTa-v3 (arXiv:2111.09543): a masked language
/// model, submodule `generator` of the discriminator that is trained with it. Its word, position
/// and segment embeddings and their norm are the discriminator's (section 3.2), or the
/// discriminator's word embeddings are the sum of its and a table of the difference
/// (EmbeddingSharing). On disk it is a complete model directory of that name below the
/// discriminator's, which is complete as well; the difference is a file of its own.
inline constexpr const char* kGenerator = "generator";
inline constexpr const char* kWordEmbeddings = "embeddings.word.weight";  // of both
inline constexpr std::string_view kGeneratorPrefix = "generator.";  // prefix of its parameters

/// Whether a parameter, by its name in either model, is a shared embedding.
bool is_shared_embedding(const std::string& parameter);

/// Counts the parameters of a generator that are not shared.
int64_t count_unshared_parameters(const ModelOptions& generator, EmbeddingSharing sharing);

/// The generator of the model; nullptr where it has none.
Model* generator_of(const Model& model);

/// Adds a generator with initial weights to the discriminator; its embeddings are the
/// discriminator's. `options` must match them.
void make_generator(Model& discriminator,
                    const ModelOptions& options,
                    uint64_t seed,
                    EmbeddingSharing sharing = EmbeddingSharing::kShared);

/// The directory of the generator below that of a discriminator.
std::string generator_directory(const std::string& directory);
bool has_generator(const std::string& directory);
/// Whether it was trained with EmbeddingSharing::kGradientDisentangled.
bool has_embedding_delta(const std::string& directory);

/// Adds the generator found below `directory`, the discriminator's directory, as it was trained; if
/// it shares its embeddings, they may also be disentangled from now on. Throws UserError where
/// there is none, or one with different embeddings.
void load_generator(Model& discriminator,
                    const std::string& directory,
                    EmbeddingSharing sharing = EmbeddingSharing::kShared);

/// Writes the model's generator below `directory`; does nothing where it has none. `parameter`: as
/// in save_model, by the names in the discriminator.
void save_generator(const std::string& directory,
                    const Model& discriminator,
                    formats::DType dtype,
                    const ParameterSource& parameter = {});

}  // namespace weft::models
