#include "models/decoding/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace weft::models {
namespace {

struct Candidate {
  float score;
  int64_t token;
};

bool is_above(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.token < b.token;
}

std::vector<Candidate> tempered(std::span<const float> scores, double temperature) {
  std::vector<Candidate> result;
  result.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isfinite(scores[i])) {
      const auto score = scores[i] / static_cast<float>(temperature);
      result.push_back({score, static_cast<int64_t>(i)});
    }
  }
  return result;
}

/// Those that score as well as the k-th, ties too.
void keep_top(std::vector<Candidate>& candidates, int64_t k) {
  const auto size = static_cast<int64_t>(candidates.size());
  if (k == 0 || k >= size) {
    return;
  }
  std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(), is_above);
  const float least = candidates[static_cast<std::size_t>(k - 1)].score;
  std::erase_if(candidates, [&](const Candidate& c) { return c.score < least; });
}

/// exp(score - greatest), and their sum.
double shares_of(const std::vector<Candidate>& candidates, std::vector<double>& shares) {
  float greatest = candidates.front().score;
  for (const auto& candidate : candidates) {
    greatest = std::max(greatest, candidate.score);
  }
  shares.clear();
  double sum = 0;
  for (const auto& candidate : candidates) {
    shares.push_back(std::exp(static_cast<double>(candidate.score - greatest)));
    sum += shares.back();
  }
  return sum;
}

/// The likeliest ones until their mass reaches p.
void keep_mass(std::vector<Candidate>& candidates, double p, std::vector<double>& shares) {
  if (p >= 1) {
    return;
  }
  std::sort(candidates.begin(), candidates.end(), is_above);
  const double sum = shares_of(candidates, shares);
  double mass = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || mass < p * sum)) {
    mass += shares[kept++];
  }
  candidates.resize(kept);
}

void keep_likely(std::vector<Candidate>& candidates, double share) {
  if (share <= 0) {
    return;
  }
  float greatest = candidates.front().score;
  for (const auto& candidate : candidates) {
    greatest = std::max(greatest, candidate.score);
  }
  std::erase_if(candidates, [&](const Candidate& c) {
    return std::exp(static_cast<double>(c.score - greatest)) < share;
  });
}

}  // namespace

std::vector<TokenShare> token_shares(std::span<const float> scores, const Sampling& sampling) {
  auto candidates = tempered(scores, sampling.temperature);
  if (candidates.empty()) {
    throw UserError(
        "no token may come next: the rules forbid all of them, or the model gives no "
        "finite scores");
  }
  std::vector<double> shares;
  keep_top(candidates, sampling.top_k);
  keep_mass(candidates, sampling.top_p, shares);
  keep_likely(candidates, sampling.min_p);
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.token < b.token; });
  const double sum = shares_of(candidates, shares);
  std::vector<TokenShare> result;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    result.push_back({.token = candidates[i].token, .share = shares[i] / sum});
  }
  return result;
}

int64_t draw_token(std::span<const float> scores,
                   const Sampling& sampling,
                   uint64_t item,
                   uint64_t place) {
  const auto shares = token_shares(scores, sampling);
  double rest = Random(sampling.seed, Purpose::kSample, place, item).uniform_double();
  for (const auto& [token, share] : shares) {
    rest -= share;
    if (rest < 0) {
      return token;
    }
  }
  return shares.back().token;
}

}  // namespace weft::models
