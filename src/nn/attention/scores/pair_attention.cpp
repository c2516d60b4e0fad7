#include "nn/attention/scores/pair_attention.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

constexpr double kMaskedScore = -1e30;  // finite: a fully masked row gives no NaN

/// Texts of a packed batch, one per row; padding is used only here.
struct Padded {
  Padded(const std::vector<TextSpan>& texts, const at::Device& device)
      : count(static_cast<int64_t>(texts.size())) {
    for (const auto& text : texts) {
      max_length = std::max(max_length, text.size);
    }
    std::vector<int64_t> from;
    std::vector<int64_t> to;
    for (int64_t i = 0; i < count; ++i) {
      const auto& text = texts[static_cast<std::size_t>(i)];
      for (int64_t k = 0; k < text.size; ++k) {
        from.push_back(text.begin + k);
        to.push_back(i * max_length + k);
      }
    }
    rows = kernels::to_device(from, device);
    padded_rows = kernels::to_device(to, device);
    mask = at::zeros({count * max_length}, at::TensorOptions(device).dtype(at::kBool))
               .index_fill(0, padded_rows, true)
               .view({count, max_length});
  }

  at::Tensor pad(const at::Tensor& x) const {  // (N, D) -> (B, L, D)
    return at::zeros({count * max_length, x.size(1)}, x.options())
        .index_copy(0, padded_rows, x.index_select(0, rows))
        .view({count, max_length, x.size(1)});
  }

  /// Writes (B, L, D) back to its rows of `whole` (N, D).
  at::Tensor unpad(const at::Tensor& whole, const at::Tensor& padded) const {
    const auto flat = padded.reshape({count * max_length, whole.size(1)});
    return whole.index_copy(0, rows, flat.index_select(0, padded_rows));
  }

  int64_t count = 0;       // B
  int64_t max_length = 0;  // L
  at::Tensor rows;         // of the packed batch
  at::Tensor padded_rows;  // in (B * L)
  at::Tensor mask;         // (B, L)
};

/// Softmax of scores (B, L, M) over M; `mask` (B, M). Fully masked rows get zero weights.
at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& mask) {
  const auto visible = mask.unsqueeze(1);  // (B, 1, M)
  return scores.masked_fill(visible.logical_not(), kMaskedScore).softmax(2) * visible;
}

}  // namespace

at::Tensor align_pairs(const at::Tensor& features,
                       const at::Tensor& values,
                       const std::vector<TextPair>& pairs) {
  std::vector<TextSpan> firsts;
  std::vector<TextSpan> seconds;
  for (const auto& pair : pairs) {
    firsts.push_back(pair.first);
    seconds.push_back(pair.second);
  }
  const Padded a(firsts, features.device());
  const Padded b(seconds, features.device());
  auto result = at::zeros_like(values);
  if (a.max_length == 0 || b.max_length == 0) {
    return result;
  }
  const auto type = values.scalar_type();
  const auto scores = kernels::batched_product(a.pad(features), b.pad(features).transpose(1, 2))
                          .to(at::kFloat);  // (B, La, Lb)
  const auto to_second = masked_softmax(scores, b.mask).to(type);
  const auto to_first = masked_softmax(scores.transpose(1, 2), a.mask).to(type);  // (B, Lb, La)
  result = a.unpad(result, kernels::batched_product(to_second, b.pad(values)));
  return b.unpad(result, kernels::batched_product(to_first, a.pad(values)));
}

at::Tensor align_texts(const at::Tensor& features,
                       const at::Tensor& values,
                       const at::Tensor& bias,
                       const std::vector<TextPair>& pairs) {
  std::vector<TextSpan> texts;
  for (const auto& pair : pairs) {
    texts.push_back(pair.first);
    texts.push_back(pair.second);
  }
  const Padded padded(texts, features.device());
  const auto result = at::zeros_like(values);
  if (padded.max_length == 0) {
    return result;
  }
  const int64_t radius = (bias.size(0) - 1) / 2;
  const auto position = at::arange(padded.max_length, at::TensorOptions(features.device()));
  const auto distance =
      (position.unsqueeze(1) - position.unsqueeze(0)).clamp(-radius, radius) + radius;
  const auto by_distance = bias.to(at::kFloat)
                               .index_select(0, distance.flatten().to(at::kLong))
                               .view({padded.max_length, padded.max_length});
  const auto rows = padded.pad(features);
  const auto scores =
      kernels::batched_product(rows, rows.transpose(1, 2)).to(at::kFloat) + by_distance;
  const auto weights = masked_softmax(scores, padded.mask).to(values.scalar_type());
  return padded.unpad(result, kernels::batched_product(weights, padded.pad(values)));
}

}  // namespace weft::nn
