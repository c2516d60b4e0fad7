#include "models/decoding/beam.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "models/decoding/search.h"

namespace weft::models {

namespace {

constexpr std::size_t kBlock = 128;  // tokens

/// A loop that the compiler vectorises, but not where it is inlined; false for forbidden tokens and
/// NaN.
[[gnu::noinline]] bool has_better(std::span<const float, kBlock> scores,
                                  float log_normalizer,
                                  float before,
                                  float least) {
  int better = 0;
  for (const auto score : scores) {
    better += score - log_normalizer + before > least ? 1 : 0;
  }
  return better > 0;
}

}  // namespace

Beam::Beam(const Prompt& prompt, const SearchOptions& options, int64_t beams)
    : options_(options),
      beams_(static_cast<std::size_t>(beams)),
      prompt_(static_cast<int64_t>(prompt.tokens.size())),
      max_new_tokens_(prompt.max_new_tokens),
      running_{{.tokens = prompt.tokens}},
      is_done_(prompt.max_new_tokens <= 0) {}

int64_t Beam::generated() const {
  return static_cast<int64_t>(running_.front().tokens.size()) - prompt_;
}

float Beam::score_of(float sum, int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto words = static_cast<float>(options_.word_penalty * tokens);
  return (sum - words) / static_cast<float>(std::pow(tokens, options_.length_penalty));
}

/// b times the sum of ln(min(c, 1)).
float Beam::coverage_score(const std::vector<float>& coverage) const {
  double sum = 0;
  for (const auto value : coverage) {
    sum += std::log(std::clamp(value, std::numeric_limits<float>::min(), 1.0F));
  }
  return static_cast<float>(options_.coverage_penalty * sum);
}

/// Over all rows; a min-heap keeps the best candidates so far. Most blocks of tokens have none.
std::vector<Beam::Candidate> Beam::best_candidates(
    const std::vector<NextScores>& next_scores) const {
  const auto wanted = std::max<std::size_t>(2, options_.eos_ids.size() + 1) * beams_;
  const auto is_better = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
  std::vector<Candidate> heap;
  heap.reserve(wanted);
  float least = -std::numeric_limits<float>::infinity();
  for (std::size_t parent = 0; parent < next_scores.size(); ++parent) {
    const auto& [scores, log_normalizer, tokens] = next_scores[parent];
    const float before = running_[parent].score;
    for (std::size_t begin = 0; begin < scores.size(); begin += kBlock) {
      const auto block = scores.subspan(begin, std::min(kBlock, scores.size() - begin));
      if (block.size() == kBlock &&
          !has_better(block.first<kBlock>(), log_normalizer, before, least)) {
        continue;
      }
      for (std::size_t i = 0; i < block.size(); ++i) {
        const float score = block[i] - log_normalizer + before;
        if (!(score > least)) {
          continue;
        }
        if (heap.size() == wanted) {
          std::pop_heap(heap.begin(), heap.end(), is_better);
          heap.pop_back();
        }
        heap.push_back(
            {score, parent, tokens.empty() ? static_cast<int64_t>(begin + i) : tokens[begin + i]});
        std::push_heap(heap.begin(), heap.end(), is_better);
        least = heap.size() == wanted ? heap.front().score : least;
      }
    }
  }
  std::sort(heap.begin(), heap.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.score, a.parent, a.token) < std::tie(a.score, b.parent, b.token);
  });
  return heap;
}

void Beam::finish(Finished&& finished) {
  const auto place = std::find_if(finished_.begin(), finished_.end(), [&](const Finished& other) {
    return other.score < finished.score;
  });
  finished_.insert(place, std::move(finished));
  if (finished_.size() > beams_) {
    finished_.pop_back();
  }
}

bool Beam::may_improve() const {
  if (!is_full()) {
    return true;
  }
  const bool looks_ahead =
      options_.early_stopping == EarlyStopping::kNever && options_.length_penalty > 0;
  // Tokens that follow may cover the source.
  const float best = score_of(running_.front().score, looks_ahead ? max_new_tokens_ : generated());
  return best > finished_.back().score;
}

void Beam::advance(const std::vector<NextScores>& next_scores,
                   const std::vector<int64_t>& rows,
                   const IsStopped& is_stopped,
                   const std::vector<std::vector<float>>& source_attention) {
  for (std::size_t i = 0; i < running_.size() && options_.coverage_penalty > 0; ++i) {
    const auto& attention = source_attention[static_cast<std::size_t>(rows[i])];
    auto& coverage = running_[i].coverage;
    coverage.resize(attention.size(), 0.0F);
    std::ranges::transform(coverage, attention, coverage.begin(), std::plus<>());
  }
  const auto candidates = best_candidates(next_scores);
  const int64_t length = generated() + 1;
  const bool takes_more = !(options_.early_stopping == EarlyStopping::kYes && is_full());
  std::vector<Running> next;
  std::vector<Finished> ended;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [score, parent, token] = candidates[i];
    if (next.size() == beams_ && i >= beams_) {
      break;
    }
    Tokens tokens = running_[parent].tokens;
    tokens.push_back(token);
    const auto fresh = std::span<const int64_t>(tokens).subspan(static_cast<std::size_t>(prompt_));
    const bool has_ended = is_end(token, options_) || (is_stopped && is_stopped(fresh));
    if (!has_ended && length < max_new_tokens_) {
      if (next.size() < beams_) {
        next.push_back({.tokens = std::move(tokens),
                        .score = score,
                        .row = rows[parent],
                        .coverage = running_[parent].coverage});
      }
    } else if (i < beams_ && takes_more) {
      ended.push_back({.tokens = Tokens(fresh.begin(), fresh.end()),
                       .sum = score,
                       .score = score_of(score, length) + coverage_score(running_[parent].coverage),
                       .has_ended = has_ended});
    }
  }
  for (auto& finished : ended) {
    finish(std::move(finished));
  }
  if (next.empty()) {
    is_done_ = true;
    if (finished_.empty() && candidates.empty()) {  // the rules allow no continuation
      for (const auto& last : running_) {
        finish({.tokens = Tokens(last.tokens.begin() + prompt_, last.tokens.end()),
                .sum = last.score,
                .score = score_of(last.score, std::max<int64_t>(generated(), 1)) +
                         coverage_score(last.coverage),
                .has_ended = false});
      }
    }
    return;
  }
  running_ = std::move(next);
  is_done_ = !may_improve() || (options_.early_stopping == EarlyStopping::kYes && is_full());
}

std::vector<Hypothesis> Beam::results() const {
  std::vector<Hypothesis> result;
  for (const auto& finished : finished_) {
    result.push_back({.tokens = finished.tokens,
                      .log_probability = finished.sum,
                      .score = finished.score,
                      .has_ended = finished.has_ended});
  }
  if (result.empty()) {
    result.emplace_back();  // no token was allowed
  }
  return result;
}

}  // namespace weft::models
