#include "nn/attention/pair_attention.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

constexpr double kHidden = -1e30;  // finite: a row of nothing else gives no NaN

/// Texts of a packed batch, each in a row of its own: padded only in here.
struct Padded {
  Padded(const std::vector<TextRows>& texts, const at::Device& device)
      : count(static_cast<int64_t>(texts.size())) {
    for (const auto& text : texts) {
      longest = std::max(longest, text.size);
    }
    std::vector<int64_t> from;
    std::vector<int64_t> to;
    for (int64_t i = 0; i < count; ++i) {
      const auto& text = texts[static_cast<std::size_t>(i)];
      for (int64_t k = 0; k < text.size; ++k) {
        from.push_back(text.begin + k);
        to.push_back(i * longest + k);
      }
    }
    rows = kernels::to_device(from, device);
    places = kernels::to_device(to, device);
    is_there = at::zeros({count * longest}, at::TensorOptions(device).dtype(at::kBool))
                   .index_fill(0, places, true)
                   .view({count, longest});
  }

  at::Tensor in(const at::Tensor& x) const {  // (N, D) -> (B, L, D)
    return at::zeros({count * longest, x.size(1)}, x.options())
        .index_copy(0, places, x.index_select(0, rows))
        .view({count, longest, x.size(1)});
  }

  /// Puts (B, L, D) to its rows of `whole` (N, D).
  at::Tensor out(const at::Tensor& whole, const at::Tensor& padded) const {
    const auto flat = padded.reshape({count * longest, whole.size(1)});
    return whole.index_copy(0, rows, flat.index_select(0, places));
  }

  int64_t count = 0;    // B
  int64_t longest = 0;  // L
  at::Tensor rows;      // of the packed batch
  at::Tensor places;    // in (B * L)
  at::Tensor is_there;  // (B, L)
};

/// scores (B, L, M) over the M; `is_there` (B, M). The weights of nothing are zero.
at::Tensor shares(const at::Tensor& scores, const at::Tensor& is_there) {
  const auto seen = is_there.unsqueeze(1);  // (B, 1, M)
  return scores.masked_fill(seen.logical_not(), kHidden).softmax(2) * seen;
}

}  // namespace

at::Tensor align_pairs(const at::Tensor& features,
                       const at::Tensor& values,
                       const std::vector<TextPair>& pairs) {
  std::vector<TextRows> firsts;
  std::vector<TextRows> seconds;
  for (const auto& pair : pairs) {
    firsts.push_back(pair.first);
    seconds.push_back(pair.second);
  }
  const Padded a(firsts, features.device());
  const Padded b(seconds, features.device());
  auto result = at::zeros_like(values);
  if (a.longest == 0 || b.longest == 0) {
    return result;
  }
  const auto type = values.scalar_type();
  const auto scores =
      at::bmm(a.in(features), b.in(features).transpose(1, 2)).to(at::kFloat);  // (B, La, Lb)
  const auto to_second = shares(scores, b.is_there).to(type);
  const auto to_first = shares(scores.transpose(1, 2), a.is_there).to(type);  // (B, Lb, La)
  result = a.out(result, at::bmm(to_second, b.in(values)));
  return b.out(result, at::bmm(to_first, a.in(values)));
}

at::Tensor align_texts(const at::Tensor& features,
                       const at::Tensor& values,
                       const at::Tensor& bias,
                       const std::vector<TextPair>& pairs) {
  std::vector<TextRows> texts;
  for (const auto& pair : pairs) {
    texts.push_back(pair.first);
    texts.push_back(pair.second);
  }
  const Padded padded(texts, features.device());
  const auto result = at::zeros_like(values);
  if (padded.longest == 0) {
    return result;
  }
  const int64_t reach = (bias.size(0) - 1) / 2;
  const auto place = at::arange(padded.longest, at::TensorOptions(features.device()));
  const auto apart = (place.unsqueeze(1) - place.unsqueeze(0)).clamp(-reach, reach) + reach;
  const auto by_distance = bias.to(at::kFloat)
                               .index_select(0, apart.flatten().to(at::kLong))
                               .view({padded.longest, padded.longest});
  const auto rows = padded.in(features);
  const auto scores = at::bmm(rows, rows.transpose(1, 2)).to(at::kFloat) + by_distance;
  const auto weights = shares(scores, padded.is_there).to(values.scalar_type());
  return padded.out(result, at::bmm(weights, padded.in(values)));
}

}  // namespace weft::nn
