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

std::vector<Candidate> apply_temperature(std::span<const float> scores, double temperature) {
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

/// Keeps scores at least as high as the k-th, including ties.
void keep_top_k(std::vector<Candidate>& candidates, int64_t k) {
  const auto size = static_cast<int64_t>(candidates.size());
  if (k == 0 || k >= size) {
    return;
  }
  std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(), is_above);
  const float least = candidates[static_cast<std::size_t>(k - 1)].score;
  std::erase_if(candidates, [&](const Candidate& c) { return c.score < least; });
}

/// Computes exp(score - maximum); returns their sum.
double softmax_numerators(const std::vector<Candidate>& candidates,
                          std::vector<double>& probabilities) {
  float greatest = candidates.front().score;
  for (const auto& candidate : candidates) {
    greatest = std::max(greatest, candidate.score);
  }
  probabilities.clear();
  double sum = 0;
  for (const auto& candidate : candidates) {
    probabilities.push_back(std::exp(static_cast<double>(candidate.score - greatest)));
    sum += probabilities.back();
  }
  return sum;
}

/// Keeps the most likely candidates until their mass reaches p.
void keep_top_p(std::vector<Candidate>& candidates, double p, std::vector<double>& probabilities) {
  if (p >= 1) {
    return;
  }
  std::sort(candidates.begin(), candidates.end(), is_above);
  const double sum = softmax_numerators(candidates, probabilities);
  double mass = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || mass < p * sum)) {
    mass += probabilities[kept++];
  }
  candidates.resize(kept);
}

void keep_min_p(std::vector<Candidate>& candidates, double probability) {
  if (probability <= 0) {
    return;
  }
  float greatest = candidates.front().score;
  for (const auto& candidate : candidates) {
    greatest = std::max(greatest, candidate.score);
  }
  std::erase_if(candidates, [&](const Candidate& c) {
    return std::exp(static_cast<double>(c.score - greatest)) < probability;
  });
}

}  // namespace

std::vector<TokenProbability> token_probabilities(std::span<const float> scores,
                                                  const Sampling& sampling) {
  auto candidates = apply_temperature(scores, sampling.temperature);
  if (candidates.empty()) {
    throw UserError(
        "no token can follow: the constraints forbid all tokens, or the model's scores are not "
        "finite");
  }
  std::vector<double> probabilities;
  keep_top_k(candidates, sampling.top_k);
  keep_top_p(candidates, sampling.top_p, probabilities);
  keep_min_p(candidates, sampling.min_p);
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.token < b.token; });
  const double sum = softmax_numerators(candidates, probabilities);
  std::vector<TokenProbability> result;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    result.push_back({.token = candidates[i].token, .probability = probabilities[i] / sum});
  }
  return result;
}

int64_t sample_token(std::span<const float> scores,
                     const Sampling& sampling,
                     uint64_t item,
                     uint64_t position) {
  const auto probabilities = token_probabilities(scores, sampling);
  double rest = Random(sampling.seed, RandomPurpose::kSample, position, item).uniform_double();
  for (const auto& [token, probability] : probabilities) {
    rest -= probability;
    if (rest < 0) {
      return token;
    }
  }
  return probabilities.back().token;
}

}  // namespace weft::models
