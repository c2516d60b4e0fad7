#include "objectives/evaluation/seen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/text.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "kernels/to_device.h"
#include "objectives/objective.h"

namespace weft::objectives {

void check_values(const data::Batch& batch, int64_t outputs) {
  const auto values = static_cast<int64_t>(batch.values.size());
  if (values != outputs * batch.sequences()) {
    throw UserError(text("the data have ", values / std::max<int64_t>(batch.sequences(), 1),
                         " numbers in a row, the model gives ", outputs));
  }
}

at::Tensor sequence_outputs(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  return model.classify(batching::stage_input(batch, pass.layout.positions.device()), pass);
}

at::Tensor wanted_values(const data::Batch& batch, const at::Tensor& outputs) {
  check_values(batch, outputs.size(1));
  return kernels::to_device(batch.values, outputs.device())
      .view({batch.sequences(), outputs.size(1)});
}

void SeenRows::add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  const auto outputs =
      sequence_outputs(model, batch, pass).detach().to(at::kFloat).cpu().contiguous();  // (B, C)
  outputs_ = outputs.size(1);
  names_ = model.options().labels;
  for (auto i = static_cast<int64_t>(names_.size()); i < outputs_; ++i) {
    names_.push_back(text("LABEL_", i));
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

std::vector<Seen> SeenRows::rows() const {
  auto rows = rows_;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.item < b.item; });
  return rows;
}

std::vector<double> softmax_of(const std::vector<float>& logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> shares;
  double sum = 0;
  for (const float logit : logits) {
    shares.push_back(std::exp(logit - top));
    sum += shares.back();
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

std::vector<double> sigmoid_of(const std::vector<float>& logits) {
  std::vector<double> shares;
  for (const float logit : logits) {
    shares.push_back(1 / (1 + std::exp(-static_cast<double>(logit))));
  }
  return shares;
}

double cross_entropy_of(const std::vector<float>& logits, int64_t label) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - top);
  }
  return std::log(sum) + top - logits[static_cast<std::size_t>(label)];
}

double flag_loss_of(const std::vector<float>& logits, const std::vector<double>& wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = logits[i];
    sum += std::max(logit, 0.0) - logit * wanted[i] + std::log1p(std::exp(-std::abs(logit)));
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

std::vector<Verdict> worst_of(const std::vector<Seen>& rows,
                              int64_t most,
                              const std::function<double(const Seen&)>& loss_of,
                              const std::function<formats::Json(std::size_t)>& facts_of) {
  std::vector<std::pair<double, std::size_t>> order;  // loss and index
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order.emplace_back(loss_of(rows[i]), i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
  std::vector<Verdict> verdicts;
  verdicts.reserve(order.size());
  for (const auto& [loss, index] : order) {
    verdicts.push_back({.item = rows[index].item, .loss = loss, .facts = facts_of(index)});
  }
  return verdicts;
}

}  // namespace weft::objectives
