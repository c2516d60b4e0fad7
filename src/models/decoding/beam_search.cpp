#include <algorithm>
#include <unordered_map>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/parallel.h"
#include "kernels/softmax.h"
#include "models/decoding/beam.h"
#include "models/decoding/output_tokens.h"
#include "models/decoding/search.h"
#include "models/decoding/token_rules.h"

namespace weft::models {
namespace {

/// Beam groups of one prompt, and their rows of the logits.
struct PromptBeams {
  const Prompt* prompt;
  std::vector<Beam> groups;
  std::vector<std::vector<int64_t>> rows;  // per group, one per running hypothesis

  bool is_done() const {
    return std::all_of(groups.begin(), groups.end(), [](const Beam& b) { return b.is_done(); });
  }
};

class BeamSearch {
 public:
  BeamSearch(const std::vector<Prompt>& prompts,
             const SearchOptions& options,
             const SearchHooks& hooks)
      : options_(options), hooks_(hooks), processor_(options.rules, options.eos_ids) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      PromptBeams prompt_beams{.prompt = &prompts[i], .groups = {}, .rows = {}};
      for (int64_t group = 0; group < options.num_beam_groups; ++group) {
        prompt_beams.groups.emplace_back(prompts[i], options,
                                         options.num_beams / options.num_beam_groups);
        prompt_beams.rows.push_back({static_cast<int64_t>(i)});
      }
      prompt_beams_.push_back(std::move(prompt_beams));
    }
  }

  std::vector<std::vector<Hypothesis>> run(Decoder& decoder) {
    if (options_.coverage_penalty > 0) {
      decoder.record_source_attention();
    }
    auto logits = decoder.first();
    for (;;) {
      if (hooks_.on_step) {
        hooks_.on_step();
      }
      step(logits, options_.coverage_penalty > 0 ? decoder.source_attention() : kNoAttention);
      std::vector<int64_t> rows;
      Tokens tokens;
      collect(rows, tokens);
      if (rows.empty()) {
        return results();
      }
      logits = decoder.next(rows, tokens);
    }
  }

 private:
  using Attention = std::vector<std::vector<float>>;  // of each decoder row to its source
  inline static const Attention kNoAttention;

  /// Advances every prompt by one token, from the logits (R, V).
  void step(const at::Tensor& given, const Attention& source_attention) {
    const auto logits = given.to(at::kFloat).cpu().contiguous();
    kernels::parallel_for(
        0, static_cast<int64_t>(prompt_beams_.size()), 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            advance(prompt_beams_[static_cast<std::size_t>(i)], logits, source_attention);
          }
        });
  }

  void advance(PromptBeams& prompt_beams,
               const at::Tensor& logits,
               const Attention& source_attention) const {
    std::unordered_map<int64_t, int64_t> token_counts;  // beams of earlier groups per chosen token
    std::vector<std::vector<float>> changed;            // rows with rules applied
    for (std::size_t g = 0; g < prompt_beams.groups.size(); ++g) {
      auto& beam = prompt_beams.groups[g];
      if (beam.is_done()) {
        continue;
      }
      std::vector<NextScores> next;
      for (std::size_t i = 0; i < beam.running().size(); ++i) {
        const auto& prompt = *prompt_beams.prompt;
        const auto row = without_padding(
            {logits.const_data_ptr<float>() + prompt_beams.rows[g][i] * logits.size(1),
             static_cast<std::size_t>(logits.size(1))},
            prompt);
        NextScores scores{.scores = row,
                          .log_normalizer = kernels::log_sum_exp(row),
                          .tokens = prompt.output_tokens};
        const auto state = state_of(beam.running()[i], prompt);
        if (!token_counts.empty() || !processor_.is_noop(state)) {
          changed.push_back(log_probabilities(scores, prompt));
          for (const auto& [token, times] : token_counts) {
            changed.back()[static_cast<std::size_t>(token)] -=
                static_cast<float>(options_.diversity_penalty * static_cast<double>(times));
          }
          processor_.apply(changed.back(), state);
          scores = {.scores = changed.back()};
        }
        next.push_back(scores);
      }
      beam.advance(next, prompt_beams.rows[g], hooks_.is_stopped, source_attention);
      if (!beam.is_done()) {
        for (const auto& running : beam.running()) {
          ++token_counts[running.tokens.back()];
        }
      }
    }
  }

  /// By token.
  static std::vector<float> log_probabilities(const NextScores& next, const Prompt& prompt) {
    auto result = scores_by_token(next.scores, prompt);
    for (auto& value : result) {
      value -= next.log_normalizer;
    }
    return result;
  }

  static GenerationState state_of(const Beam::Running& running, const Prompt& prompt) {
    return {.tokens = running.tokens,
            .prompt = static_cast<int64_t>(prompt.tokens.size()),
            .max_new_tokens = prompt.max_new_tokens,
            .min_new_tokens = prompt.min_new_tokens};
  }

  /// Collects the decoder's next rows and tokens; records the new row of each hypothesis.
  void collect(std::vector<int64_t>& rows, Tokens& tokens) {
    for (auto& prompt_beams : prompt_beams_) {
      for (std::size_t g = 0; g < prompt_beams.groups.size(); ++g) {
        prompt_beams.rows[g].clear();
        if (prompt_beams.groups[g].is_done()) {
          continue;
        }
        for (const auto& running : prompt_beams.groups[g].running()) {
          prompt_beams.rows[g].push_back(static_cast<int64_t>(rows.size()));
          rows.push_back(running.row);
          tokens.push_back(running.tokens.back());
        }
      }
    }
  }

  std::vector<std::vector<Hypothesis>> results() const {
    std::vector<std::vector<Hypothesis>> result;
    for (const auto& prompt_beams : prompt_beams_) {
      auto& best = result.emplace_back();
      for (const auto& group : prompt_beams.groups) {
        for (auto& hypothesis : group.results()) {
          best.push_back(std::move(hypothesis));
        }
      }
      std::stable_sort(best.begin(), best.end(),
                       [](const auto& a, const auto& b) { return a.score > b.score; });
      if (static_cast<int64_t>(best.size()) > options_.num_return_sequences) {
        best.resize(static_cast<std::size_t>(options_.num_return_sequences));
      }
    }
    return result;
  }

  const SearchOptions& options_;
  const SearchHooks& hooks_;
  LogitsProcessor processor_;
  std::vector<PromptBeams> prompt_beams_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder,
                                                 const std::vector<Prompt>& prompts,
                                                 const SearchOptions& options,
                                                 const SearchHooks& hooks) {
  const at::NoGradGuard guard;
  return BeamSearch(prompts, options, hooks).run(decoder);
}

}  // namespace weft::models
