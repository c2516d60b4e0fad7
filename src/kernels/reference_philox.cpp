#include "kernels/reference_philox.h"

#include <array>

#include <ATen/ATen.h>

namespace weft::kernels::reference {
namespace {

constexpr int64_t kWord = 0xFFFFFFFF;

struct Product {
  at::Tensor low;
  at::Tensor high;
};

// The 64-bit product can overflow into the sign bit, so the shifted value must be masked.
Product reference_philox_multiply(const at::Tensor& x, int64_t factor) {
  const auto product = x * factor;
  return {at::bitwise_and(product, kWord),
          at::bitwise_and(at::bitwise_right_shift(product, 32), kWord)};
}

}  // namespace

at::Tensor philox_bits(const DropoutRule& rule,
                       int64_t first_tile,
                       int64_t tiles,
                       const at::Tensor& second,
                       const at::Tensor& third) {
  const auto options = second.options();
  constexpr int64_t kCounters = kDropoutGroup;
  const auto counter = at::arange(first_tile * kCounters, (first_tile + tiles) * kCounters, options)
                           .view({tiles, kCounters});
  std::array<at::Tensor, 4> c{at::bitwise_and(counter, kWord),
                              at::bitwise_right_shift(counter, 32) + second, third,
                              at::zeros({1}, options)};
  int64_t key0 = rule.key[0];
  int64_t key1 = rule.key[1];
  for (int round = 0; round < kDropoutRounds; ++round) {
    const auto a = reference_philox_multiply(c[0], 0xD2511F53);
    const auto b = reference_philox_multiply(c[2], 0xCD9E8D57);
    c = {at::bitwise_xor(at::bitwise_xor(b.high, c[1]), key0), b.low,
         at::bitwise_xor(at::bitwise_xor(a.high, c[3]), key1), a.low};
    key0 = (key0 + 0x9E3779B9) & kWord;
    key1 = (key1 + 0xBB67AE85) & kWord;
  }
  std::vector<at::Tensor> groups;
  for (const auto& word : at::broadcast_tensors(c)) {  // (..., tiles, 16)
    groups.push_back(at::bitwise_and(word, 0xFFFF));
    groups.push_back(at::bitwise_right_shift(word, 16));
  }
  return at::stack(groups, -2).flatten(-3);  // (..., tiles, 8, 16) -> (..., tiles * 128)
}

at::Tensor dropout_mask(const DropoutRule& rule, const at::Tensor& bits) {
  return at::ge(bits, static_cast<int64_t>(rule.threshold)).to(at::kFloat).mul_(rule.scale);
}

}  // namespace weft::kernels::reference
