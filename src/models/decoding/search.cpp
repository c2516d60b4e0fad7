#include "models/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/to_device.h"

namespace weft::models {
namespace {

void check(const SearchOptions& options) {
  if (options.num_beams > 1 && options.sampling.is_enabled) {
    throw UserError("beam search and sampling are mutually exclusive");
  }
  if (options.num_beams % options.num_beam_groups != 0) {
    throw UserError(str_cat(options.num_beams, " beams cannot be divided into ",
                            options.num_beam_groups, " groups of equal size"));
  }
  if (options.num_return_sequences > options.num_beams && !options.sampling.is_enabled) {
    throw UserError(str_cat(options.num_return_sequences,
                            " texts per prompt requested, but there are only ", options.num_beams,
                            " beams: at least as many are required"));
  }
}

}  // namespace

void Decoder::record_source_attention() {
  throw UserError("a coverage penalty needs attention to a source");
}

const std::vector<std::vector<float>>& Decoder::source_attention() const {
  static const std::vector<std::vector<float>> kNone;
  return kNone;
}

at::Tensor select_rows(const at::Tensor& x, const std::vector<int64_t>& rows) {
  std::vector<int64_t> all(static_cast<std::size_t>(x.size(0)));
  std::iota(all.begin(), all.end(), 0);
  return rows == all ? x : x.index_select(0, kernels::to_device(rows, x.device()));
}

double hypothesis_score(double log_probability, int64_t length, const SearchOptions& options) {
  const auto tokens = static_cast<double>(length);
  return (log_probability - options.word_penalty * tokens) /
         std::pow(tokens, options.length_penalty);
}

bool is_end(int64_t token, const SearchOptions& options) {
  return std::find(options.eos_ids.begin(), options.eos_ids.end(), token) != options.eos_ids.end();
}

bool is_truncated_by_length(const Hypothesis& hypothesis,
                            const Prompt& prompt,
                            const SearchOptions& options) {
  const bool is_full = static_cast<int64_t>(hypothesis.tokens.size()) >= prompt.max_new_tokens;
  const bool is_forced = options.rules.forced_eos_token >= 0;  // an end forced by the length
  return prompt.is_length_limited && is_full && (!hypothesis.has_ended || is_forced);
}

std::vector<std::vector<Hypothesis>> search(Decoder& decoder,
                                            const std::vector<Prompt>& prompts,
                                            const SearchOptions& options,
                                            const SearchHooks& hooks) {
  check(options);
  if (prompts.empty()) {
    return {};
  }
  return options.num_beams > 1 ? beam_search(decoder, prompts, options, hooks)
                               : greedy_or_sampling_search(decoder, prompts, options, hooks);
}

}  // namespace weft::models
