#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "models/directory.h"

namespace weft::models {

/// ELECTRA's generator (arXiv:2003.10555): an encoder that guesses hidden tokens, carried by the
/// discriminator that is trained with it as its part `generator`. Its tables of words, positions
/// and segments, with the norm behind them, are the discriminator's own (section 3.2). In files it
/// is a whole model directory of that name below the discriminator's.
inline constexpr const char* kGenerator = "generator";
inline constexpr std::string_view kOfGenerator = "generator.";  // its parameters in the model

/// Whether a parameter, by its name in either, is one that both embed with.
bool is_shared(const std::string& parameter);

/// The parameters that a generator has beside the shared ones, those of these names left out.
int64_t own_parameters(const ModelOptions& generator, const std::set<std::string>& spared = {});

/// The generator that the model carries; nullptr where it carries none.
Model* generator_of(const Model& model);

/// Gives the discriminator a generator with initial weights. `options` must agree with it in what
/// both embed.
void make_generator(Model& discriminator, const ModelOptions& options, uint64_t seed);

/// The directory of the generator below that of a discriminator.
std::string generator_directory(const std::string& directory);
bool has_generator(const std::string& directory);

/// Gives the discriminator, which lies in `directory`, the generator below it. Throws UserError
/// where there is none, or one with other embeddings.
void load_generator(Model& discriminator, const std::string& directory);

/// Writes the generator that the model carries below `directory`; nothing where it carries none.
/// `parameter`: as save_model takes it, by the names in the discriminator.
void save_generator(const std::string& directory,
                    const Model& discriminator,
                    formats::DType dtype,
                    const ParameterSource& parameter = {});

}  // namespace weft::models
