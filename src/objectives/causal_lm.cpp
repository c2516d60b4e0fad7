#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "batching/hidden_states.h"
#include "data/datasets/causal_dataset.h"
#include "data/text/text_counts.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

struct CausalRecord : TokenRecord {
  std::array<double, data::kTextCounts> text{};

  static constexpr auto kFields =
      std::tuple_cat(TokenRecord::kFields, std::tuple(&CausalRecord::text));
};

class CausalLmEvaluation : public RecordEvaluation<CausalRecord> {
 public:
  CausalLmEvaluation() : RecordEvaluation("causal") {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    auto records = make_records(batch);
    add_targets(token_predictions(model, batch, context), batch, records);
    for (std::size_t i = 0; i < batch.values.size(); ++i) {
      records[i / data::kTextCounts].text[i % data::kTextCounts] += batch.values[i];
    }
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    const auto sum = records().sum();
    const auto targets = static_cast<double>(sum.targets);
    auto metrics = token_results(sum);
    const double nats = metrics.at("eval_loss") * targets;
    metrics["eval_tokens"] = targets;
    const auto counts = data::text_counts(sum.text);
    if (counts.words > 0 && counts.bytes > 0) {
      metrics["eval_words"] = counts.words;
      metrics["eval_word_perplexity"] = std::exp(nats / counts.words);
      metrics["eval_bits_per_byte"] = nats / counts.bytes / std::numbers::ln2;
      metrics["eval_bits_per_character"] = nats / counts.characters / std::numbers::ln2;
    }
    return metrics;
  }
};

class CausalLmObjective : public Objective {
 public:
  std::string_view name() const override { return "causal"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kCausalLm;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    return requires_text_head(name(), model, models::Head::kCausalLm,
                              "causal language modelling head");
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true,
            .continues_text = true,
            .is_left_to_right = true,
            .supports_counting = true};
  }
  std::vector<std::string> terms() const override { return {"causal"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {token_loss(model, batching::target_states(model, batch, context), batch, context)};
  }
  std::vector<int64_t> fitted_tokens(const data::Example& example) const override {
    auto tokens = example.ids;
    tokens.push_back(example.targets.back());
    return tokens;
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<CausalLmEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    add_sample_targets(example, 1, model.vocabulary);
    return example;
  }
  data::DataOptions store_options(const data::DataOptions& data,
                                  const models::ModelOptions& /*model*/) const override {
    return data::whole_documents(data);
  }
  void check_training(const TrainingSetup& setup) const override {
    check_causal_data(setup.data_section, setup.data);
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return causal_datasets(inputs);
  }
};

}  // namespace

std::unique_ptr<Objective> make_causal_lm() { return std::make_unique<CausalLmObjective>(); }

std::unique_ptr<Objective> read_causal_lm(config::Section& /*section*/) { return make_causal_lm(); }

}  // namespace weft::objectives
