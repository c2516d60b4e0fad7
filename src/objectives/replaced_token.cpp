#include <algorithm>
#include <tuple>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/random.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "metrics/metric.h"
#include "metrics/metrics.h"
#include "models/generator.h"
#include "models/model.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/record_evaluation.h"
#include "objectives/masked_lm.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

/// Sums over masked tokens (generator) and over all tokens (discriminator).
struct RunningSums {
  double generator_loss = 0;
  double masked = 0;
  double generator_correct = 0;  // by argmax
  double discriminator_loss = 0;
  double tokens = 0;
  double replaced = 0;        // by a different token
  double predicted = 0;       // predicted as replaced
  double true_positives = 0;  // predicted and replaced

  static constexpr auto kFields = std::tuple(&RunningSums::generator_loss,
                                             &RunningSums::masked,
                                             &RunningSums::generator_correct,
                                             &RunningSums::discriminator_loss,
                                             &RunningSums::tokens,
                                             &RunningSums::replaced,
                                             &RunningSums::predicted,
                                             &RunningSums::true_positives);
  static constexpr std::size_t kSize = std::tuple_size_v<decltype(kFields)>;
  static RunningSums of(const std::vector<double>& numbers) {
    TORCH_CHECK(numbers.size() == kSize, "replaced_token counts ", kSize, " numbers, got ",
                numbers.size());
    return {numbers[0], numbers[1], numbers[2], numbers[3],
            numbers[4], numbers[5], numbers[6], numbers[7]};
  }
};

std::map<std::string, double> metrics_of(const RunningSums& sums) {
  const auto scores =
      metrics::precision_recall_f1(sums.true_positives, sums.predicted, sums.replaced);
  const double wrong = sums.predicted + sums.replaced - 2 * sums.true_positives;
  return {{"generator_loss", metrics::safe_divide(sums.generator_loss, sums.masked)},
          {"generator_accuracy", metrics::safe_divide(sums.generator_correct, sums.masked)},
          {"discriminator_loss", metrics::safe_divide(sums.discriminator_loss, sums.tokens)},
          {"discriminator_accuracy", metrics::safe_divide(sums.tokens - wrong, sums.tokens)},
          {"discriminator_precision", scores.precision},
          {"discriminator_recall", scores.recall},
          {"replaced_share", metrics::safe_divide(sums.replaced, sums.tokens)}};
}

models::Model& required_generator(const models::Model& model) {
  auto* generator = models::generator_of(model);
  TORCH_CHECK(generator != nullptr, "replaced_token needs a model with a generator");
  return *generator;
}

/// The same context with different dropout from the discriminator's.
nn::ForwardContext generator_context(const nn::ForwardContext& context) {
  constexpr uint64_t kGeneratorStream = 3;
  auto own = context;
  own.seed = hash_combine(context.seed, kGeneratorStream);
  own.attention_recorder = nullptr;
  return own;
}

/// The generator's last hidden states of the masked tokens, ready for its output matrix: (M, E).
at::Tensor generator_features(models::Model& generator,
                              const models::TextInput& input,
                              const data::Batch& batch,
                              const nn::ForwardContext& context) {
  return generator.token_features(generator.selected_hidden_states(
      input, generator_context(context), batching::target_rows(batch, context)));
}

/// Samples the generator's replacements of the masked tokens: (M). `features` (M, E), `uniforms`
/// (M) doubles; in chunks to bound the memory, passing the logits and start of each to `visit`.
template <class Visit>
at::Tensor sample_tokens(models::Model& generator,
                         const at::Tensor& features,
                         const at::Tensor& uniforms,
                         const Visit& visit) {
  constexpr int64_t kChunkRows = 512;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sampled = {at::empty({0}, features.options().dtype(at::kLong))};
  const int64_t rows = features.size(0);
  for (int64_t begin = 0; begin < rows; begin += kChunkRows) {
    const int64_t end = std::min(rows, begin + kChunkRows);
    const auto logits = kernels::linear(features.slice(0, begin, end), generator.output_weight(),
                                        generator.output_bias());  // (m, V)
    sampled.push_back(kernels::sample_categorical(logits, uniforms.slice(0, begin, end)));
    visit(logits, begin);
  }
  return at::cat(sampled);
}

/// Discriminator input: the text with sampled tokens in place of the masked ones.
struct CorruptedInput {
  models::TextInput input;
  at::Tensor labels;  // (N) bool: is it a different token? A correctly sampled one is not.
};

CorruptedInput corrupt_input(const models::TextInput& masked,
                             const data::Batch& batch,
                             const at::Tensor& sampled) {
  CorruptedInput result{.input = masked, .labels = {}};
  if (batch.targets.empty()) {
    result.labels = at::zeros_like(masked.ids, at::kBool);
    return result;
  }
  const auto device = masked.ids.device();
  const auto rows = kernels::to_device(batch.target_rows, device);
  const auto text = masked.ids.index_copy(0, rows, kernels::to_device(batch.targets, device));
  result.input.ids = masked.ids.index_copy(0, rows, kernels::to_device(sampled, device));
  result.labels = at::ne(result.input.ids, text);
  return result;
}

/// Logits of each token being replaced: (N).
at::Tensor discriminator_logits(models::Model& model,
                                const models::TextInput& input,
                                const nn::ForwardContext& context) {
  return model.token_logits(model.hidden(input, context), context).squeeze(1);
}

/// Binary cross-entropy of each token: (N), fp32.
at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& labels) {
  return at::binary_cross_entropy_with_logits(logits.to(at::kFloat), labels.to(at::kFloat), {}, {},
                                              at::Reduction::None);
}

struct ReplacedTokenRecord : RunningSums {
  int64_t item = 0;
};

class ReplacedTokenEvaluation : public RecordEvaluation<ReplacedTokenRecord> {
 public:
  explicit ReplacedTokenEvaluation(double weight)
      : RecordEvaluation("replaced_token"), weight_(weight) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    const at::NoGradGuard no_grad;
    auto records = make_records(batch);
    const auto masked = batching::input_to_device(batch, context.layout.positions.device());
    auto& generator = required_generator(model);
    models::TokenMetrics metrics;
    const auto sampled = sample_tokens(
        generator, generator_features(generator, masked, batch, context), uniforms(batch),
        [&](const at::Tensor& logits, int64_t begin) {
          const auto first = batch.targets.begin() + begin;
          metrics.append(models::token_metrics(logits, {first, first + logits.size(0)}));
        });
    add_predictions(metrics, batch, records);
    const auto corrupted = corrupt_input(masked, batch, sampled);
    add_discriminator_sums(discriminator_logits(model, corrupted.input, context), corrupted.labels,
                           batch, records);
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    auto result = metrics::with_eval_prefix(metrics_of(records().sum()));
    result["eval_loss"] =
        result.at("eval_generator_loss") + weight_ * result.at("eval_discriminator_loss");
    return result;
  }

 private:
  /// A pure function of the item and the position in it, independent of batching.
  static at::Tensor uniforms(const data::Batch& batch) {
    constexpr uint64_t kSeed = 0;
    std::vector<double> numbers;
    visit_targets(batch, [&](std::size_t sequence, std::size_t target) {
      const auto position = batch.target_rows[target] - batch.offsets[sequence];
      numbers.push_back(Random(kSeed, RandomPurpose::kGenerator,
                               static_cast<uint64_t>(batch.items[sequence]),
                               static_cast<uint64_t>(position))
                            .uniform_double());
    });
    return at::tensor(numbers, at::kDouble);
  }

  static void add_predictions(const models::TokenMetrics& metrics,
                              const data::Batch& batch,
                              std::vector<ReplacedTokenRecord>& sums) {
    visit_targets(batch, [&](std::size_t sequence, std::size_t target) {
      auto& sum = sums[sequence];
      sum.generator_loss += metrics.losses[target];
      sum.masked += 1;
      sum.generator_correct += metrics.predictions[target] == batch.targets[target] ? 1 : 0;
    });
  }

  static void add_discriminator_sums(const at::Tensor& logits,
                                     const at::Tensor& labels,
                                     const data::Batch& batch,
                                     std::vector<ReplacedTokenRecord>& sums) {
    const auto losses = token_losses(logits, labels).cpu();
    const auto predicted = at::gt(logits, 0).cpu();
    const auto actual = labels.cpu();
    const auto* const loss = losses.const_data_ptr<float>();
    const auto* const is_predicted = predicted.const_data_ptr<bool>();
    const auto* const is_replaced = actual.const_data_ptr<bool>();
    for (std::size_t sequence = 0; sequence < sums.size(); ++sequence) {
      auto& sum = sums[sequence];
      for (auto row = batch.offsets[sequence]; row < batch.offsets[sequence + 1]; ++row) {
        sum.discriminator_loss += loss[row];
        sum.tokens += 1;
        sum.replaced += is_replaced[row] ? 1 : 0;
        sum.predicted += is_predicted[row] ? 1 : 0;
        sum.true_positives += is_predicted[row] && is_replaced[row] ? 1 : 0;
      }
    }
  }

  double weight_;
};

class ReplacedTokenObjective : public Objective {
 public:
  explicit ReplacedTokenObjective(const ReplacedTokenOptions& options) : options_(options) {}

  std::string_view name() const override { return "replaced_token"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kReplacedToken;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    const auto wrong =
        requires_text_head(name(), model, models::Head::kReplacedToken, "discriminator");
    return wrong ? wrong : generator_incompatibility(options_.generator, model);
  }
  std::optional<models::ModelOptions> generator_options(
      const models::ModelOptions& model) const override {
    return objectives::generator_options(options_.generator, model);
  }
  models::EmbeddingSharing embedding_sharing() const override {
    return options_.generator.sharing.value_or(models::EmbeddingSharing::kShared);
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true};
  }
  void init_from_model(const config::Section& section, const std::string& directory) override {
    match_stored_generator(section, directory, options_.generator);
  }
  std::vector<std::string> terms() const override { return {"generator", "discriminator"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size()), batch.tokens()};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto masked = batching::input_to_device(batch, context.layout.positions.device());
    auto& generator = required_generator(model);
    const auto features = generator_features(generator, masked, batch, context);
    const auto targets = kernels::to_device(batch.targets, features.device());
    const auto loss = batch.targets.empty()
                          ? batching::zero_loss(features)
                          : kernels::linear_cross_entropy(features, generator.output_weight(),
                                                          generator.output_bias(), targets);
    auto generator_correct = at::zeros({}, targets.options());
    const auto sampled = sample_tokens(
        generator, features, uniforms(batch, context),
        [&](const at::Tensor& logits, int64_t begin) {
          const auto right = targets.slice(0, begin, begin + logits.size(0));
          generator_correct = generator_correct + at::eq(logits.argmax(1), right).sum();
        });
    const auto corrupted = corrupt_input(masked, batch, sampled);
    const auto logits = discriminator_logits(model, corrupted.input, context);  // (N)
    const auto discriminator_loss =
        kernels::deterministic_sum(token_losses(logits, corrupted.labels));
    return {loss, discriminator_loss * options_.weight,
            at::cat({sums_of(loss, batch.targets.size(), generator_correct),
                     sums_of(discriminator_loss, batch.ids.size(), corrupted.labels.sum()),
                     at::stack(predicted_counts(logits, corrupted.labels)).to(at::kDouble)})};
  }

  int64_t num_running_sums() const override { return RunningSums::kSize; }
  std::map<std::string, double> metrics(const std::vector<double>& running_sums) const override {
    return metrics_of(RunningSums::of(running_sums));
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<ReplacedTokenEvaluation>(options_.weight);
  }

  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    add_sample_targets(example, options_.mask.fraction, model.vocabulary);
    return example;
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return masked_datasets(inputs, options_.mask, data::PairTask::kNone);
  }

  /// A pure function of seed, step and the row in the step, independent of micro-batches.
  static at::Tensor uniforms(const data::Batch& batch, const nn::ForwardContext& context) {
    std::vector<double> numbers;
    for (const auto row : batch.target_rows) {
      numbers.push_back(Random(context.seed, RandomPurpose::kGenerator, context.step,
                               static_cast<uint64_t>(context.first_row + row))
                            .uniform_double());
    }
    return at::tensor(numbers, at::kDouble);
  }

  /// Loss, targets and a count of a term, in RunningSums order: (3) doubles.
  static at::Tensor sums_of(const at::Tensor& loss, std::size_t targets, const at::Tensor& count) {
    const auto doubles = at::device(loss.device()).dtype(at::kDouble);
    return at::stack({loss.detach().to(at::kDouble),
                      at::scalar_tensor(static_cast<double>(targets), doubles),
                      count.to(at::kDouble)});
  }

  /// Number of tokens predicted as replaced, and of those the number actually replaced.
  static std::vector<at::Tensor> predicted_counts(const at::Tensor& logits,
                                                  const at::Tensor& labels) {
    const auto predicted = at::gt(logits.detach(), 0);
    return {predicted.sum(), at::logical_and(predicted, labels).sum()};
  }

  ReplacedTokenOptions options_;
};

}  // namespace

std::unique_ptr<Objective> make_replaced_token(const ReplacedTokenOptions& options) {
  return std::make_unique<ReplacedTokenObjective>(options);
}

std::unique_ptr<Objective> read_replaced_token(config::Section& section) {
  return make_replaced_token(read_replaced_token_options(section));
}

}  // namespace weft::objectives
