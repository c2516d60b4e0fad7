#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

#include "kernels/to_device.h"
#include "models/model.h"

namespace weft::models {

namespace {

template <class Value>
std::vector<Value> values_of(const at::Tensor& tensor) {
  const auto flat = tensor.cpu().contiguous();
  const auto* data = flat.const_data_ptr<Value>();
  return {data, data + flat.numel()};
}

}  // namespace

void TokenMetrics::append(const TokenMetrics& more) {
  losses.insert(losses.end(), more.losses.begin(), more.losses.end());
  predictions.insert(predictions.end(), more.predictions.begin(), more.predictions.end());
  scores.insert(scores.end(), more.scores.begin(), more.scores.end());
}

TokenMetrics token_metrics(const at::Tensor& logits, const std::vector<int64_t>& targets) {
  if (targets.empty()) {
    return {};
  }
  const auto rows = logits.detach().to(at::kFloat);  // (M, C)
  const auto wanted = kernels::to_device(targets, logits.device()).unsqueeze(1);
  const auto best = rows.argmax(1, true);      // (M, 1)
  const auto sums = at::logsumexp(rows, {1});  // (M)
  const auto losses = sums - rows.gather(1, wanted).squeeze(1);
  const auto scores = (rows.gather(1, best).squeeze(1) - sums).exp();
  return {.losses = values_of<double>(losses.to(at::kDouble)),
          .predictions = values_of<int64_t>(best),
          .scores = values_of<double>(scores.to(at::kDouble))};
}

}  // namespace weft::models
