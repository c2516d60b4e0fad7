#include "objectives/causal_lm.h"

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "batching/hidden_states.h"
#include "data/text/text_counts.h"
#include "objectives/data/sample_example.h"
#include "objectives/evaluation/token_evaluation.h"

namespace weft::objectives {

namespace {

class CausalLmEvaluation : public Evaluation {
 public:
  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    tokens_->add(model, batch, context);
    targets_ += static_cast<int64_t>(batch.targets.size());
    constexpr std::size_t kWidth = data::kTextCounts;
    for (std::size_t i = 0; i < batch.values.size(); ++i) {
      counts_[i % kWidth] += batch.values[i];
    }
  }

  std::map<std::string, double> result() const override {
    auto metrics = tokens_->result();
    const double nats = metrics.at("eval_loss") * static_cast<double>(targets_);
    metrics["eval_tokens"] = static_cast<double>(targets_);
    const auto counts = data::text_counts(counts_);
    if (counts.words > 0 && counts.bytes > 0) {
      metrics["eval_words"] = counts.words;
      metrics["eval_word_perplexity"] = std::exp(nats / counts.words);
      metrics["eval_bits_per_byte"] = nats / counts.bytes / std::numbers::ln2;
      metrics["eval_bits_per_character"] = nats / counts.characters / std::numbers::ln2;
    }
    return metrics;
  }

 private:
  std::unique_ptr<Evaluation> tokens_ = make_token_evaluation();
  int64_t targets_ = 0;
  std::array<double, data::kTextCounts> counts_{};  // integers: exact in any order of summation
};

class CausalLmObjective : public Objective {
 public:
  models::Head head() const override { return models::Head::kCausalLm; }
  std::vector<std::string> terms() const override { return {"causal"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {token_loss(model, batching::target_states(model, batch, context), batch)};
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<CausalLmEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    add_sample_targets(example, 1, model.vocabulary);
    return example;
  }
};

}  // namespace

std::unique_ptr<Objective> make_causal_lm_objective(const ObjectiveOptions& /*options*/) {
  return std::make_unique<CausalLmObjective>();
}

}  // namespace weft::objectives
