#include "objectives/evaluation/eval_prediction.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/token_metrics.h"
#include "kernels/to_device.h"
#include "objectives/objective.h"

namespace weft::objectives {

void check_values(const data::Batch& batch, int64_t outputs) {
  const auto values = static_cast<int64_t>(batch.values.size());
  if (values != outputs * batch.sequences()) {
    throw UserError(str_cat("the data have ", values / std::max<int64_t>(batch.sequences(), 1),
                            " numbers per row, but the model's output size is ", outputs));
  }
}

at::Tensor sequence_outputs(models::Model& model,
                            const data::Batch& batch,
                            const nn::ForwardContext& context) {
  return model.classify(batching::input_to_device(batch, context.layout.positions.device()),
                        context);
}

at::Tensor target_values(const data::Batch& batch, const at::Tensor& outputs) {
  check_values(batch, outputs.size(1));
  return kernels::to_device(batch.values, outputs.device())
      .view({batch.sequences(), outputs.size(1)});
}

void PredictionCollector::add(models::Model& model,
                              const data::Batch& batch,
                              const nn::ForwardContext& context) {
  const auto outputs =
      sequence_outputs(model, batch, context).detach().to(at::kFloat).cpu().contiguous();  // (B, C)
  outputs_ = outputs.size(1);
  names_ = model.options().labels;
  for (auto i = static_cast<int64_t>(names_.size()); i < outputs_; ++i) {
    names_.push_back(str_cat("LABEL_", i));
  }
  const auto* begin = outputs.const_data_ptr<float>();
  const std::size_t width = batch.items.empty() ? 0 : batch.values.size() / batch.items.size();
  for (std::size_t i = 0; i < batch.items.size(); ++i, begin += outputs_) {
    const auto* const values = batch.values.data() + i * width;
    rows_.push_back({.item = batch.items[i],
                     .label = batch.labels[i],
                     .values = {values, values + width},
                     .outputs = {begin, begin + outputs_}});
  }
}

std::vector<EvalPrediction> PredictionCollector::rows() const {
  auto rows = rows_;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.item < b.item; });
  return rows;
}

std::vector<double> softmax_of(const std::vector<float>& logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - top));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) {
    probability /= sum;
  }
  return probabilities;
}

std::vector<double> sigmoid_of(const std::vector<float>& logits) {
  std::vector<double> probabilities;
  for (const float logit : logits) {
    probabilities.push_back(1 / (1 + std::exp(-static_cast<double>(logit))));
  }
  return probabilities;
}

double cross_entropy_of(const std::vector<float>& logits, int64_t label) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - top);
  }
  return std::log(sum) + top - logits[static_cast<std::size_t>(label)];
}

double bce_loss_of(const std::vector<float>& logits, const std::vector<double>& targets) {
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = logits[i];
    sum += std::max(logit, 0.0) - logit * targets[i] + std::log1p(std::exp(-std::abs(logit)));
  }
  return sum / static_cast<double>(logits.size());
}

std::vector<double> column_of(const std::vector<std::vector<double>>& rows, int64_t index) {
  std::vector<double> column;
  column.reserve(rows.size());
  for (const auto& row : rows) {
    column.push_back(row[static_cast<std::size_t>(index)]);
  }
  return column;
}

std::vector<ExampleResult> hardest_examples_of(
    const std::vector<EvalPrediction>& rows,
    int64_t limit,
    const std::function<double(const EvalPrediction&)>& loss_of,
    const std::function<formats::Json(std::size_t)>& fields_of) {
  std::vector<std::pair<double, std::size_t>> order;  // loss and index
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order.emplace_back(loss_of(rows[i]), i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(limit)));
  std::vector<ExampleResult> results;
  results.reserve(order.size());
  for (const auto& [loss, index] : order) {
    results.push_back({.item = rows[index].item, .loss = loss, .fields = fields_of(index)});
  }
  return results;
}

}  // namespace weft::objectives
