#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/token_metrics.h"
#include "models/ngram/tables.h"

namespace weft::models {

/// A registered tensor of an n-gram model.
struct NgramBuffer {
  std::string name;       // `tokens_2`
  std::size_t order = 0;  // k - 1
  at::Tensor NgramOrder::*part = nullptr;
  int64_t size = 0;
  at::ScalarType type = at::kFloat;
};

/// The buffers of a model of these options, in the order of the file.
std::vector<NgramBuffer> ngram_buffers(const ModelOptions& options);

/// An n-gram language model. Its tables are buffers, which are estimated from counts of the
/// training data: it has no parameters and no gradient. Before, all tokens are equally likely. It
/// computes on the CPU.
///
/// The hidden state of a token is the history that ends in it: (N, n - 1) int64, NgramHistory. The
/// token that begins texts begins a new history, wherever it stands.
class NgramModel : public Model {
 public:
  explicit NgramModel(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  const NgramTables& tables() const { return tables_; }
  /// Replaces the tables, whose order is that of the options.
  void set_tables(const std::vector<NgramOrder>& orders);

  void fit(const TrainingSequences& data) override;
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor lm_logits(const at::Tensor& states) override;  // log probabilities
  at::Tensor lm_loss(const at::Tensor& states,
                     const at::Tensor& targets,
                     double smoothing) override;  // without gradient, never smoothed
  TokenMetrics lm_metrics(const at::Tensor& states, const std::vector<int64_t>& targets) override;
  at::Tensor output_weight() override { return {}; }
  void finish_loading() override;

  // The tables stay as they are.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Device device, bool non_blocking) override;

 private:
  ModelOptions options_;
  std::vector<NgramOrder> buffers_;
  NgramTables tables_;  // of the buffers
};

}  // namespace weft::models
