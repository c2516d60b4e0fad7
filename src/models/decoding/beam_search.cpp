#include <algorithm>
#include <unordered_map>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/parallel.h"
#include "models/decoding/beam.h"
#include "models/decoding/search.h"
#include "models/decoding/token_rules.h"

namespace weft::models {
namespace {

/// The groups of beams of one prompt, and the rows of the logits that they read.
struct Asked {
  const Prompt* prompt;
  std::vector<Beam> groups;
  std::vector<std::vector<int64_t>> rows;  // of each group, one a running hypothesis

  bool is_done() const {
    return std::all_of(groups.begin(), groups.end(), [](const Beam& b) { return b.is_done(); });
  }
};

class BeamSearch {
 public:
  BeamSearch(const std::vector<Prompt>& prompts,
             const SearchOptions& options,
             const SearchHooks& hooks)
      : options_(options), hooks_(hooks), rules_(options.rules, options.end_ids) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Asked asked{.prompt = &prompts[i], .groups = {}, .rows = {}};
      for (int64_t group = 0; group < options.groups; ++group) {
        asked.groups.emplace_back(prompts[i], options, options.beams / options.groups);
        asked.rows.push_back({static_cast<int64_t>(i)});
      }
      asked_.push_back(std::move(asked));
    }
  }

  std::vector<std::vector<Hypothesis>> run(Decoder& decoder) {
    auto logits = decoder.first();
    for (;;) {
      if (hooks_.on_step) {
        hooks_.on_step();
      }
      step(logits);
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
  /// Every prompt goes one token on, by the logits (R, V).
  void step(const at::Tensor& logits) {
    auto scores = logits.to(at::kFloat).log_softmax(1).cpu().contiguous();
    const auto width = scores.size(1);
    auto* data = scores.mutable_data_ptr<float>();
    kernels::parallel_for(0, static_cast<int64_t>(asked_.size()), 1,
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              advance(asked_[static_cast<std::size_t>(i)], data, width);
                            }
                          });
  }

  void advance(Asked& asked, float* data, int64_t width) const {
    std::unordered_map<int64_t, int64_t> chosen;  // tokens, by how many beams of earlier groups
    std::vector<std::vector<float>> copies;       // of rows that groups share at first
    for (std::size_t g = 0; g < asked.groups.size(); ++g) {
      auto& beam = asked.groups[g];
      if (beam.is_done()) {
        continue;
      }
      std::vector<std::span<const float>> rows;
      for (std::size_t i = 0; i < beam.running().size(); ++i) {
        std::span<float> row(data + asked.rows[g][i] * width, static_cast<std::size_t>(width));
        if (asked.groups.size() > 1) {
          copies.emplace_back(row.begin(), row.end());
          row = copies.back();
          for (const auto& [token, times] : chosen) {
            row[static_cast<std::size_t>(token)] -=
                static_cast<float>(options_.diversity * static_cast<double>(times));
          }
        }
        apply_rules(row, beam.running()[i], *asked.prompt);
        rows.push_back(row);
      }
      beam.advance(rows, asked.rows[g], hooks_.is_stopped);
      if (!beam.is_done()) {
        for (const auto& running : beam.running()) {
          ++chosen[running.tokens.back()];
        }
      }
    }
  }

  void apply_rules(std::span<float> row, const Beam::Running& running, const Prompt& prompt) const {
    const Begun begun{.tokens = running.tokens,
                      .prompt = static_cast<int64_t>(prompt.tokens.size()),
                      .most = prompt.most,
                      .least = prompt.least};
    if (!rules_.are_plain(begun)) {
      rules_.apply(row, begun);
    }
  }

  /// The rows and tokens that the decoder goes on with; notes where each hypothesis will stand.
  void collect(std::vector<int64_t>& rows, Tokens& tokens) {
    for (auto& asked : asked_) {
      for (std::size_t g = 0; g < asked.groups.size(); ++g) {
        asked.rows[g].clear();
        if (asked.groups[g].is_done()) {
          continue;
        }
        for (const auto& running : asked.groups[g].running()) {
          asked.rows[g].push_back(static_cast<int64_t>(rows.size()));
          rows.push_back(running.row);
          tokens.push_back(running.tokens.back());
        }
      }
    }
  }

  std::vector<std::vector<Hypothesis>> results() const {
    std::vector<std::vector<Hypothesis>> result;
    for (const auto& asked : asked_) {
      auto& best = result.emplace_back();
      for (const auto& group : asked.groups) {
        for (auto& hypothesis : group.results()) {
          best.push_back(std::move(hypothesis));
        }
      }
      std::stable_sort(best.begin(), best.end(),
                       [](const auto& a, const auto& b) { return a.score > b.score; });
      if (static_cast<int64_t>(best.size()) > options_.best) {
        best.resize(static_cast<std::size_t>(options_.best));
      }
    }
    return result;
  }

  const SearchOptions& options_;
  const SearchHooks& hooks_;
  RuledScores rules_;
  std::vector<Asked> asked_;
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
