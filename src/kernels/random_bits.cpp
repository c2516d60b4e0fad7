#include "kernels/random_bits.h"

#include <algorithm>
#include <cmath>

#include <c10/util/Exception.h>

#include "base/random.h"

namespace weft::kernels {
namespace {

DropoutRule make_dropout_rule(double p, const RngKey& rng_key, RandomPurpose purpose) {
  TORCH_CHECK(p >= 0.0 && p < 1.0, "dropout expects a probability in [0, 1), got ", p);
  constexpr double kSteps = 65536.0;
  const uint64_t use = (static_cast<uint64_t>(purpose) << 32U) | rng_key.site;
  const uint64_t key = hash_combine(hash_combine(rng_key.seed, rng_key.step), use);
  DropoutRule rule;
  rule.key[0] = static_cast<uint32_t>(key);
  rule.key[1] = static_cast<uint32_t>(key >> 32U);
  rule.threshold = static_cast<uint32_t>(std::min(std::round(p * kSteps), kSteps - 1));
  rule.scale = static_cast<float>(kSteps / (kSteps - rule.threshold));
  return rule;
}

}  // namespace

DropoutRule dropout_rule(double p, const RngKey& rng_key) {
  return make_dropout_rule(p, rng_key, RandomPurpose::kDropout);
}

DropoutRule attention_dropout_rule(double p, const RngKey& rng_key) {
  return make_dropout_rule(p, rng_key, RandomPurpose::kAttentionDropout);
}

}  // namespace weft::kernels
