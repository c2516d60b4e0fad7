#include "models/decoding/search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace weft::models {
namespace {

void check(const SearchOptions& options) {
  if (options.beams > 1 && options.sampling.is_on) {
    throw UserError("beams and sampling exclude each other");
  }
  if (options.beams % options.groups != 0) {
    throw UserError(
        text(options.beams, " beams do not make ", options.groups, " groups of like size"));
  }
  if (options.best > options.beams && !options.sampling.is_on) {
    throw UserError(text(options.best, " hypotheses are wanted, but there are ", options.beams,
                         " beams: at least as many are needed"));
  }
}

}  // namespace

double hypothesis_score(double log_probability, int64_t length, const SearchOptions& options) {
  const auto tokens = static_cast<double>(length);
  return (log_probability - options.word_penalty * tokens) /
         std::pow(tokens, options.length_penalty);
}

bool is_end(int64_t token, const SearchOptions& options) {
  return std::find(options.end_ids.begin(), options.end_ids.end(), token) != options.end_ids.end();
}

bool is_cut_by_length(const Hypothesis& hypothesis,
                      const Prompt& prompt,
                      const SearchOptions& options) {
  const bool is_full = static_cast<int64_t>(hypothesis.tokens.size()) >= prompt.most;
  const bool is_forced = options.rules.forced_last >= 0;  // an end that the length brought about
  return prompt.lacks_room && is_full && (!hypothesis.has_ended || is_forced);
}

std::vector<std::vector<Hypothesis>> search(Decoder& decoder,
                                            const std::vector<Prompt>& prompts,
                                            const SearchOptions& options,
                                            const SearchHooks& hooks) {
  check(options);
  if (prompts.empty()) {
    return {};
  }
  return options.beams > 1 ? beam_search(decoder, prompts, options, hooks)
                           : line_search(decoder, prompts, options, hooks);
}

}  // namespace weft::models
