#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "kernels/parallel.h"
#include "kernels/softmax.h"
#include "models/decoding/output_tokens.h"
#include "models/decoding/sampler.h"
#include "models/decoding/search.h"
#include "models/decoding/token_rules.h"

namespace weft::models {
namespace {

/// A sequence during generation.
struct Sequence {
  std::size_t prompt = 0;
  uint64_t number = 0;  // among the samples of its prompt
  Tokens tokens;        // prompt and new ones
  double log_probability = 0;
  bool has_ended = false;
};

/// Next tokens, with their log-probabilities by the model.
struct NextTokens {
  Tokens tokens;
  std::vector<double> log_probabilities;
};

class GreedyOrSamplingSearch {
 public:
  GreedyOrSamplingSearch(const std::vector<Prompt>& prompts,
                         const SearchOptions& options,
                         const SearchHooks& hooks)
      : prompts_(prompts),
        options_(options),
        hooks_(hooks),
        processor_(options.rules, options.eos_ids) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      for (int64_t number = 0; number < options.num_return_sequences; ++number) {
        sequences_.push_back(
            {.prompt = i, .number = static_cast<uint64_t>(number), .tokens = prompts[i].tokens});
      }
    }
  }

  std::vector<std::vector<Hypothesis>> run(Decoder& decoder) {
    std::vector<std::size_t> alive;  // sequences, one per row of the logits
    std::vector<int64_t> rows;       // their rows of the logits
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (prompts_[sequences_[i].prompt].max_new_tokens > 0) {
        alive.push_back(i);
        rows.push_back(static_cast<int64_t>(sequences_[i].prompt));
      }
    }
    auto logits = alive.empty() ? at::Tensor() : select_rows(decoder.first(), rows);
    while (!alive.empty()) {
      if (hooks_.on_step) {
        hooks_.on_step();
      }
      const auto next = choose(logits, alive);
      std::vector<std::size_t> still;
      std::vector<int64_t> parents;
      Tokens tokens;
      for (std::size_t i = 0; i < alive.size(); ++i) {
        take(sequences_[alive[i]], next.tokens[i], next.log_probabilities[i]);
        if (!is_done(sequences_[alive[i]])) {
          still.push_back(alive[i]);
          parents.push_back(rows[i]);
          tokens.push_back(next.tokens[i]);
        }
      }
      if (!still.empty()) {
        logits = decoder.next(parents, tokens);
      }
      alive = std::move(still);
      rows.resize(alive.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = static_cast<int64_t>(i);
      }
    }
    return results();
  }

 private:
  const Prompt& prompt_of(std::size_t sequence) const {
    return prompts_[sequences_[sequence].prompt];
  }

  GenerationState state(const Sequence& sequence) const {
    const auto& prompt = prompts_[sequence.prompt];
    return {.tokens = sequence.tokens,
            .prompt = static_cast<int64_t>(prompt.tokens.size()),
            .max_new_tokens = prompt.max_new_tokens,
            .min_new_tokens = prompt.min_new_tokens};
  }

  NextTokens choose(const at::Tensor& logits, const std::vector<std::size_t>& alive) const {
    const bool is_plain =
        !options_.sampling.is_enabled && std::all_of(alive.begin(), alive.end(), [&](auto i) {
          return processor_.is_noop(state(sequences_[i]));
        });
    return is_plain ? argmax_tokens(logits, alive) : processed_tokens(logits, alive);
  }

  /// Without token rules the scores can stay on the device.
  NextTokens argmax_tokens(const at::Tensor& logits, const std::vector<std::size_t>& alive) const {
    const auto scores = logits.to(at::kFloat);
    const auto [values, ids] = scores.max(1);
    const auto log_probabilities = (values - kernels::log_sum_exp(scores)).to(at::kDouble).cpu();
    const auto host = ids.cpu();
    NextTokens next;
    for (std::size_t i = 0; i < alive.size(); ++i) {
      next.tokens.push_back(token_of(host.const_data_ptr<int64_t>()[i], prompt_of(alive[i])));
      next.log_probabilities.push_back(log_probabilities.const_data_ptr<double>()[i]);
    }
    return next;
  }

  NextTokens processed_tokens(const at::Tensor& logits,
                              const std::vector<std::size_t>& alive) const {
    const auto raw = logits.to(at::kFloat);
    const auto sums = kernels::log_sum_exp(raw).cpu();
    const auto scores = raw.cpu().contiguous();
    const auto width = scores.size(1);
    const auto* data = scores.const_data_ptr<float>();
    NextTokens next{.tokens = Tokens(alive.size()),
                    .log_probabilities = std::vector<double>(alive.size())};
    kernels::parallel_for(
        0, static_cast<int64_t>(alive.size()), 1, [&](int64_t begin, int64_t end) {
          std::vector<float> row;
          for (int64_t i = begin; i < end; ++i) {
            const auto position = static_cast<std::size_t>(i);
            const auto& sequence = sequences_[alive[position]];
            const auto& prompt = prompts_[sequence.prompt];
            const auto before = scores_by_token(
                without_padding({data + i * width, static_cast<std::size_t>(width)}, prompt),
                prompt);
            row = before;
            processor_.apply(row, state(sequence));
            const auto token = next_token(row, sequence);
            next.tokens[position] = token;
            next.log_probabilities[position] =
                static_cast<double>(before[static_cast<std::size_t>(token)]) -
                static_cast<double>(sums.const_data_ptr<float>()[i]);
          }
        });
    return next;
  }

  int64_t next_token(std::span<const float> scores, const Sequence& sequence) const {
    if (options_.sampling.is_enabled) {
      const auto item = static_cast<uint64_t>(prompts_[sequence.prompt].index);
      const auto position = static_cast<uint64_t>(state(sequence).generated());
      return sample_token(scores, options_.sampling, item,
                          sample_position(sequence.number, position));
    }
    const auto best = std::max_element(scores.begin(), scores.end());
    if (!std::isfinite(*best)) {
      throw UserError(
          "no token can follow: the constraints forbid all tokens, or the model's scores are not "
          "finite");
    }
    return best - scores.begin();
  }

  void take(Sequence& sequence, int64_t token, double log_probability) {
    sequence.tokens.push_back(token);
    sequence.log_probability += log_probability;
    const auto generated =
        std::span<const int64_t>(sequence.tokens).subspan(prompts_[sequence.prompt].tokens.size());
    sequence.has_ended =
        is_end(token, options_) || (hooks_.is_stopped && hooks_.is_stopped(generated));
    if (hooks_.on_token) {
      hooks_.on_token(static_cast<int64_t>(sequence.prompt), token);
    }
  }

  bool is_done(const Sequence& sequence) const {
    return sequence.has_ended ||
           state(sequence).generated() >= prompts_[sequence.prompt].max_new_tokens;
  }

  std::vector<std::vector<Hypothesis>> results() const {
    std::vector<std::vector<Hypothesis>> result(prompts_.size());
    for (const auto& sequence : sequences_) {
      const auto begin = sequence.tokens.begin() + state(sequence).prompt;
      const auto length = state(sequence).generated();
      const double score =
          length == 0 ? 0 : hypothesis_score(sequence.log_probability, length, options_);
      result[sequence.prompt].push_back({.tokens = Tokens(begin, sequence.tokens.end()),
                                         .log_probability = sequence.log_probability,
                                         .score = score,
                                         .has_ended = sequence.has_ended});
    }
    return result;
  }

  const std::vector<Prompt>& prompts_;
  const SearchOptions& options_;
  const SearchHooks& hooks_;
  LogitsProcessor processor_;
  std::vector<Sequence> sequences_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> greedy_or_sampling_search(Decoder& decoder,
                                                               const std::vector<Prompt>& prompts,
                                                               const SearchOptions& options,
                                                               const SearchHooks& hooks) {
  const at::NoGradGuard guard;
  return GreedyOrSamplingSearch(prompts, options, hooks).run(decoder);
}

}  // namespace weft::models
