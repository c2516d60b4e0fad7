#pragma once

#include <vector>

#include "models/decoding/decoder.h"
#include "models/decoding/search_options.h"

namespace weft::models {

/// Goes on with each prompt: greedily, by sampling, or with beams. -> for each prompt the wanted
/// hypotheses, best first (sampled ones in the order of their numbers). What one prompt gets does
/// not depend on the others. Throws UserError for options that cannot go together.
std::vector<std::vector<Hypothesis>> search(Decoder& decoder,
                                            const std::vector<Prompt>& prompts,
                                            const SearchOptions& options,
                                            const SearchHooks& hooks = {});

/// One token after another, without beams.
std::vector<std::vector<Hypothesis>> line_search(Decoder& decoder,
                                                 const std::vector<Prompt>& prompts,
                                                 const SearchOptions& options,
                                                 const SearchHooks& hooks);

/// Beams, those of a group apart from the others.
std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder,
                                                 const std::vector<Prompt>& prompts,
                                                 const SearchOptions& options,
                                                 const SearchHooks& hooks);

/// log_probability / length^a, less what the words cost.
double hypothesis_score(double log_probability, int64_t length, const SearchOptions& options);

bool is_end(int64_t token, const SearchOptions& options);

/// Whether it is the model's length that ended the text: it would have gone on.
bool is_cut_by_length(const Hypothesis& hypothesis,
                      const Prompt& prompt,
                      const SearchOptions& options);

}  // namespace weft::models
