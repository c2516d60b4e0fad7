#pragma once

#include <vector>

#include <ATen/Functions.h>

#include "models/model.h"

namespace weft::test {

/// A model with known outputs: the row of an item is found by its first id.
class FixedModel : public models::Model {
 public:
  FixedModel(models::ModelOptions options, std::vector<std::vector<float>> outputs)
      : options_(std::move(options)), outputs_(std::move(outputs)) {}

  const models::ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const models::TextInput& input,
                    const nn::ForwardContext& /*context*/) override {
    return input.ids;
  }
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override {
    const auto width = static_cast<int64_t>(outputs_.front().size());
    auto logits = at::empty({context.layout.sequences(), width}, at::kFloat);
    for (int64_t row = 0; row < logits.size(0); ++row) {
      const auto first = context.layout.offsets[static_cast<std::size_t>(row)];
      const auto& output = outputs_[static_cast<std::size_t>(hidden[first].item<int64_t>())];
      for (int64_t column = 0; column < width; ++column) {
        logits[row][column] = output[static_cast<std::size_t>(column)];
      }
    }
    return logits;
  }
  at::Tensor pooled(const at::Tensor& hidden, const nn::ForwardContext& /*context*/) override {
    return hidden;
  }
  at::Tensor token_features(const at::Tensor& rows) override { return rows; }
  at::Tensor output_weight() override { return {}; }
  at::Tensor output_bias() override { return {}; }
  at::Tensor next_sentence_logits(const at::Tensor& pooled) override { return pooled; }
  at::Tensor token_logits(const at::Tensor& hidden,
                          const nn::ForwardContext& /*context*/) override {
    return hidden;
  }

 private:
  models::ModelOptions options_;
  std::vector<std::vector<float>> outputs_;
};

}  // namespace weft::test
