#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "kernels/parallel.h"
#include "kernels/to_device.h"
#include "models/decoding/sampler.h"
#include "models/decoding/search.h"
#include "models/decoding/token_rules.h"

namespace weft::models {
namespace {

/// A sequence that grows.
struct Line {
  std::size_t prompt = 0;
  uint64_t number = 0;  // among the samples of its prompt
  Tokens tokens;        // prompt and new ones
  double log_probability = 0;
  bool has_ended = false;
};

/// The tokens that come next, and their log-probabilities by the model.
struct Chosen {
  Tokens tokens;
  std::vector<double> log_probabilities;
};

class LineSearch {
 public:
  LineSearch(const std::vector<Prompt>& prompts,
             const SearchOptions& options,
             const SearchHooks& hooks)
      : prompts_(prompts),
        options_(options),
        hooks_(hooks),
        rules_(options.rules, options.end_ids) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      for (int64_t number = 0; number < options.best; ++number) {
        lines_.push_back(
            {.prompt = i, .number = static_cast<uint64_t>(number), .tokens = prompts[i].tokens});
      }
    }
  }

  std::vector<std::vector<Hypothesis>> run(Decoder& decoder) {
    std::vector<std::size_t> alive;  // lines, one a row of the logits
    std::vector<int64_t> rows;       // rows of the logits that they read
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (prompts_[lines_[i].prompt].most > 0) {
        alive.push_back(i);
        rows.push_back(static_cast<int64_t>(lines_[i].prompt));
      }
    }
    auto logits = alive.empty() ? at::Tensor() : rows_of(decoder.first(), rows);
    while (!alive.empty()) {
      if (hooks_.on_step) {
        hooks_.on_step();
      }
      const auto chosen = choose(logits, alive);
      std::vector<std::size_t> still;
      std::vector<int64_t> parents;
      Tokens tokens;
      for (std::size_t i = 0; i < alive.size(); ++i) {
        take(lines_[alive[i]], chosen.tokens[i], chosen.log_probabilities[i]);
        if (!is_done(lines_[alive[i]])) {
          still.push_back(alive[i]);
          parents.push_back(rows[i]);
          tokens.push_back(chosen.tokens[i]);
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
  static at::Tensor rows_of(const at::Tensor& logits, const std::vector<int64_t>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] != static_cast<int64_t>(i) ||
          logits.size(0) != static_cast<int64_t>(rows.size())) {
        return logits.index_select(0, kernels::to_device(rows, logits.device()));
      }
    }
    return logits;
  }

  Begun begun(const Line& line) const {
    const auto& prompt = prompts_[line.prompt];
    return {.tokens = line.tokens,
            .prompt = static_cast<int64_t>(prompt.tokens.size()),
            .most = prompt.most,
            .least = prompt.least};
  }

  Chosen choose(const at::Tensor& logits, const std::vector<std::size_t>& alive) const {
    const bool is_plain = !options_.sampling.is_on &&
                          std::all_of(alive.begin(), alive.end(),
                                      [&](auto i) { return rules_.are_plain(begun(lines_[i])); });
    return is_plain ? likeliest(logits) : ruled(logits, alive);
  }

  /// Where nothing changes the scores they need not leave the device.
  static Chosen likeliest(const at::Tensor& logits) {
    const auto scores = logits.to(at::kFloat);
    const auto [values, ids] = scores.max(1);
    const auto log_probabilities = (values - scores.logsumexp(1)).to(at::kDouble).cpu();
    const auto host = ids.cpu();
    const auto rows = static_cast<std::size_t>(scores.size(0));
    return {.tokens = Tokens(host.const_data_ptr<int64_t>(), host.const_data_ptr<int64_t>() + rows),
            .log_probabilities =
                std::vector<double>(log_probabilities.const_data_ptr<double>(),
                                    log_probabilities.const_data_ptr<double>() + rows)};
  }

  Chosen ruled(const at::Tensor& logits, const std::vector<std::size_t>& alive) const {
    const auto raw = logits.to(at::kFloat);
    const auto sums = raw.logsumexp(1).cpu();
    auto scores = raw.cpu().contiguous();
    if (scores.is_same(logits)) {
      scores = scores.clone();
    }
    const auto width = scores.size(1);
    auto* data = scores.mutable_data_ptr<float>();
    Chosen chosen{.tokens = Tokens(alive.size()),
                  .log_probabilities = std::vector<double>(alive.size())};
    kernels::parallel_for(
        0, static_cast<int64_t>(alive.size()), 1, [&](int64_t begin, int64_t end) {
          std::vector<float> before;
          for (int64_t i = begin; i < end; ++i) {
            const auto place = static_cast<std::size_t>(i);
            const auto& line = lines_[alive[place]];
            const std::span<float> row(data + i * width, static_cast<std::size_t>(width));
            before.assign(row.begin(), row.end());
            rules_.apply(row, begun(line));
            const auto token = next_token(row, line);
            chosen.tokens[place] = token;
            chosen.log_probabilities[place] =
                static_cast<double>(before[static_cast<std::size_t>(token)]) -
                static_cast<double>(sums.const_data_ptr<float>()[i]);
          }
        });
    return chosen;
  }

  int64_t next_token(std::span<const float> scores, const Line& line) const {
    if (options_.sampling.is_on) {
      const auto item = static_cast<uint64_t>(prompts_[line.prompt].index);
      const auto place = static_cast<uint64_t>(begun(line).generated());
      return draw_token(scores, options_.sampling, item, (line.number << 32) | place);
    }
    const auto best = std::max_element(scores.begin(), scores.end());
    if (!std::isfinite(*best)) {
      throw UserError(
          "no token may come next: the rules forbid all of them, or the model gives no "
          "finite scores");
    }
    return best - scores.begin();
  }

  void take(Line& line, int64_t token, double log_probability) {
    line.tokens.push_back(token);
    line.log_probability += log_probability;
    const auto generated =
        std::span<const int64_t>(line.tokens).subspan(prompts_[line.prompt].tokens.size());
    line.has_ended = is_end(token, options_) || (hooks_.is_stopped && hooks_.is_stopped(generated));
    if (hooks_.on_token) {
      hooks_.on_token(static_cast<int64_t>(line.prompt), token);
    }
  }

  bool is_done(const Line& line) const {
    return line.has_ended || begun(line).generated() >= prompts_[line.prompt].most;
  }

  std::vector<std::vector<Hypothesis>> results() const {
    std::vector<std::vector<Hypothesis>> result(prompts_.size());
    for (const auto& line : lines_) {
      const auto begin = line.tokens.begin() + begun(line).prompt;
      const auto length = begun(line).generated();
      const double score =
          length == 0 ? 0 : hypothesis_score(line.log_probability, length, options_);
      result[line.prompt].push_back({.tokens = Tokens(begin, line.tokens.end()),
                                     .log_probability = line.log_probability,
                                     .score = score,
                                     .has_ended = line.has_ended});
    }
    return result;
  }

  const std::vector<Prompt>& prompts_;
  const SearchOptions& options_;
  const SearchHooks& hooks_;
  RuledScores rules_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> line_search(Decoder& decoder,
                                                 const std::vector<Prompt>& prompts,
                                                 const SearchOptions& options,
                                                 const SearchHooks& hooks) {
  const at::NoGradGuard guard;
  return LineSearch(prompts, options, hooks).run(decoder);
}

}  // namespace weft::models
