#include "objectives/evaluation/eval_prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "kernels/to_device.h"

namespace weft::objectives {

namespace {

void check_values(const data::Batch& batch, int64_t outputs) {
  const auto values = static_cast<int64_t>(batch.values.size());
  if (values != outputs * batch.sequences()) {
    throw UserError(str_cat("the data have ", values / std::max<int64_t>(batch.sequences(), 1),
                            " numbers per row, but the model's output size is ", outputs));
  }
}

}  // namespace

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

void PredictionEvaluation::add(models::Model& model,
                               const data::Batch& batch,
                               const nn::ForwardContext& context) {
  std::vector<int64_t> layers;
  auto own = context;
  own.exit_layers = &layers;
  const auto outputs =
      sequence_outputs(model, batch, own).detach().to(at::kFloat).cpu().contiguous();  // (B, C)
  if (!batch.values.empty()) {
    check_values(batch, outputs.size(1));
  }
  auto names = model.options().labels;
  for (auto i = static_cast<int64_t>(names.size()); i < outputs.size(1); ++i) {
    names.push_back(str_cat("LABEL_", i));
  }
  set_labels(std::move(names));
  const auto* begin = outputs.const_data_ptr<float>();
  const std::size_t width = batch.items.empty() ? 0 : batch.values.size() / batch.items.size();
  auto rows = make_records(batch);
  for (std::size_t i = 0; i < rows.size(); ++i, begin += outputs.size(1)) {
    const auto* const values = batch.values.data() + i * width;
    rows[i].label = batch.labels[i];
    rows[i].values = {values, values + width};
    rows[i].outputs = {begin, begin + outputs.size(1)};
    rows[i].layers = layers.empty() ? 0 : layers[i];
  }
  add_records(std::move(rows));
}

void PredictionEvaluation::add_layers(const std::vector<EvalPrediction>& rows,
                                      std::map<std::string, double>& metrics) {
  const auto sum =
      std::accumulate(rows.begin(), rows.end(), int64_t{0},
                      [](int64_t total, const auto& row) { return total + row.layers; });
  if (sum > 0) {
    metrics["layers"] = static_cast<double>(sum) / static_cast<double>(rows.size());
  }
}

std::vector<double> softmax_of(const std::vector<float>& logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  probabilities.reserve(logits.size());
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
  probabilities.reserve(logits.size());
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

std::vector<ExampleResult> hardest_examples_of(
    const std::vector<EvalPrediction>& rows,
    const std::vector<double>& losses,
    int64_t limit,
    const std::function<formats::Json(std::size_t)>& fields_of) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(limit)));
  std::vector<ExampleResult> results;
  results.reserve(order.size());
  for (const std::size_t index : order) {
    results.push_back(
        {.item = rows[index].item, .loss = losses[index], .fields = fields_of(index)});
  }
  return results;
}

}  // namespace weft::objectives
