#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/ngram/tables.h"

namespace weft::models {

/// A registered tensor of an n-gram model.
struct NgramBuffer {
  std::string name;       // `tokens_2`; of a classifier `class_0_tokens_2`
  std::size_t model = 0;  // the class; 0 for a language model
  std::size_t order = 0;  // k - 1
  at::Tensor NgramOrder::*part = nullptr;
  int64_t size = 0;
  at::ScalarType type = at::kFloat;
};

/// Buffer of a classifier's ln P(class).
inline constexpr const char* kNgramLogPrior = "log_prior";

/// The buffers of a model of these options, in the order of the file, without
/// log_prior. Throws UserError if
/// NgramOptions::sizes does not fit.
std::vector<NgramBuffer> ngram_buffers(const ModelOptions& options);

/// Base of the models that consist of n-gram tables: one for a language model, one for each class
/// of a classifier. The tables are buffers, which are estimated from counts of the training data:
/// there are no parameters and no gradient. Before, all tokens are equally likely. Computes on the
/// CPU. The token that begins texts begins a new history, wherever it stands.
class NgramBase : public Model {
 public:
  explicit NgramBase(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  const NgramTables& tables(std::size_t model = 0) const { return tables_[model]; }
  /// Replaces the tables of all models, whose order is that of the options.
  void set_tables(const std::vector<std::vector<NgramOrder>>& models);

  void fit(const TrainingSequences& data) override;
  void finish_loading() override;

  // The tables stay as they are.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Device device, bool non_blocking) override;

 protected:
  /// The history after one more token.
  void advance(std::size_t model,
               NgramHistory before,
               int64_t token,
               std::span<int64_t> after) const;

 private:
  void use_buffers();

  ModelOptions options_;
  std::vector<std::vector<NgramOrder>> buffers_;
  std::vector<NgramTables> tables_;  // of the buffers
};

/// An n-gram language model. The hidden state of a token is the history that ends in it:
/// (N, n - 1) int64, NgramHistory.
class NgramModel : public NgramBase {
 public:
  using NgramBase::NgramBase;

  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor lm_logits(const nn::TokenStates& rows) override;  // log probabilities
  at::Tensor lm_loss(const nn::TokenStates& rows,
                     const at::Tensor& targets,
                     const nn::ForwardContext& context,
                     double smoothing) override;  // without gradient, never smoothed
  TokenMetrics lm_metrics(const nn::TokenStates& rows,
                          const std::vector<int64_t>& targets) override;
  at::Tensor output_weight() override { return {}; }
};

/// Classifies a text by Bayes' rule, with a language model for each class:
///
///   logit of a class = ln P(text | class) / temperature + ln P(class)
///
/// The hidden state of a token is its contribution to ln P(text | class): (N, C).
class NgramClassifier : public NgramBase {
 public:
  explicit NgramClassifier(const ModelOptions& options);

  void fit(const TrainingSequences& data) override;
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 private:
  at::Tensor log_prior_;  // (C) float32, a buffer
};

}  // namespace weft::models
