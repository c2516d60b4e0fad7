#pragma once

#include <cstdint>

#include "nn/attention/attention_parts.h"
#include "nn/component.h"

namespace weft::nn {

/// What attention gives to every score function: widths of one head.
struct ScoreOptions {
  int64_t query_width = 0;
  int64_t key_width = 0;
};

using ScoreDefinition = ComponentDefinition<ScoreFunction, ScoreOptions>;
using ScoreMaker = ScoreDefinition::Maker;
using ScoreChoice = ComponentChoice<ScoreFunction, ScoreOptions>;

/// The values of `attention.score`.
const Registry<ScoreDefinition>& score_functions();

/// Adds a score function; call it before weft::run. Throws std::invalid_argument if the name is
/// taken.
void register_score_function(const ScoreDefinition& definition);

}  // namespace weft::nn
