#include "objectives/replaced_token.h"

#include <algorithm>
#include <array>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/random.h"
#include "batching/hidden_states.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "kernels/cross_entropy.h"
#include "kernels/draw.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "kernels/total.h"
#include "metrics/metrics.h"
#include "models/generator.h"

namespace weft::objectives {

namespace {

/// Sums over hidden tokens (the generator's) and over all (the discriminator's).
struct Sums {
  double generator_loss = 0;
  double hidden = 0;
  double guessed = 0;  // by the likeliest token
  double discriminator_loss = 0;
  double tokens = 0;
  double replaced = 0;  // by another token than the text's
  double found = 0;     // said to be replaced
  double hits = 0;      // and so they are

  static constexpr std::size_t kSize = 8;
  std::array<double, kSize> numbers() const {
    return {generator_loss, hidden, guessed, discriminator_loss, tokens, replaced, found, hits};
  }
  static Sums of(const std::vector<double>& numbers) {
    TORCH_CHECK(numbers.size() == kSize, "replaced_token counts ", kSize, " numbers, got ",
                numbers.size());
    return {numbers[0], numbers[1], numbers[2], numbers[3],
            numbers[4], numbers[5], numbers[6], numbers[7]};
  }
  void add(const Sums& more) {
    generator_loss += more.generator_loss;
    hidden += more.hidden;
    guessed += more.guessed;
    discriminator_loss += more.discriminator_loss;
    tokens += more.tokens;
    replaced += more.replaced;
    found += more.found;
    hits += more.hits;
  }
};

std::map<std::string, double> figures_of(const Sums& sums) {
  const auto scores = metrics::scores_of(sums.hits, sums.found, sums.replaced);
  const double wrong = sums.found + sums.replaced - 2 * sums.hits;
  return {{"generator_loss", metrics::quotient(sums.generator_loss, sums.hidden)},
          {"generator_accuracy", metrics::quotient(sums.guessed, sums.hidden)},
          {"discriminator_loss", metrics::quotient(sums.discriminator_loss, sums.tokens)},
          {"discriminator_accuracy", metrics::quotient(sums.tokens - wrong, sums.tokens)},
          {"discriminator_precision", scores.precision},
          {"discriminator_recall", scores.recall},
          {"replaced_share", metrics::quotient(sums.replaced, sums.tokens)}};
}

models::Model& generator_in(const models::Model& model) {
  auto* generator = models::generator_of(model);
  TORCH_CHECK(generator != nullptr, "replaced_token needs a model that carries a generator");
  return *generator;
}

/// The same pass with draws of its own: the generator's dropout is not the discriminator's.
nn::Pass pass_of_generator(const nn::Pass& pass) {
  constexpr uint64_t kGeneratorsDraws = 3;
  auto own = pass;
  own.seed = mix(pass.seed, kGeneratorsDraws);
  own.trace = nullptr;
  return own;
}

/// The generator's last hidden states of the hidden tokens, ready for its output matrix: (M, E).
/// Undefined where no token is hidden.
at::Tensor generator_features(models::Model& generator,
                              const models::TextInput& input,
                              const data::Batch& batch,
                              const nn::Pass& pass) {
  if (batch.targets.empty()) {
    return {};
  }
  return generator.token_features(
      generator.hidden_rows(input, pass_of_generator(pass), batching::target_rows(batch, pass)));
}

/// What the generator puts in the places of the hidden tokens: (M). `features` (M, E), `uniforms`
/// (M) doubles; in chunks that bound the memory, of which `see` gets the logits and their begin.
template <class See>
at::Tensor drawn_by(models::Model& generator,
                    const at::Tensor& features,
                    const at::Tensor& uniforms,
                    const See& see) {
  constexpr int64_t kChunkRows = 512;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> drawn;
  const int64_t rows = features.size(0);
  for (int64_t begin = 0; begin < rows; begin += kChunkRows) {
    const int64_t end = std::min(rows, begin + kChunkRows);
    const auto logits = kernels::linear(features.slice(0, begin, end), generator.output_weight(),
                                        generator.output_bias());  // (m, V)
    drawn.push_back(kernels::draw_columns(logits, uniforms.slice(0, begin, end)));
    see(logits, begin);
  }
  return at::cat(drawn);
}

/// What the discriminator reads: the text with other tokens in the places of the hidden ones.
struct Replaced {
  models::TextInput input;
  at::Tensor labels;  // (N) bool: is it another token? One that is drawn right is not.
};

Replaced replaced_by(const models::TextInput& masked,
                     const data::Batch& batch,
                     const at::Tensor& drawn) {
  Replaced result{.input = masked, .labels = {}};
  if (batch.targets.empty()) {
    result.labels = at::zeros_like(masked.ids, at::kBool);
    return result;
  }
  const auto device = masked.ids.device();
  const auto rows = kernels::to_device(batch.target_rows, device);
  const auto text = masked.ids.index_copy(0, rows, kernels::to_device(batch.targets, device));
  result.input.ids = masked.ids.index_copy(0, rows, kernels::to_device(drawn, device));
  result.labels = at::ne(result.input.ids, text);
  return result;
}

/// Of each token whether it was replaced: (N).
at::Tensor verdicts(models::Model& model, const models::TextInput& input, const nn::Pass& pass) {
  return model.token_logits(model.hidden(input, pass), pass).squeeze(1);
}

/// Binary cross-entropy of each token: (N), fp32.
at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& labels) {
  return at::binary_cross_entropy_with_logits(logits.to(at::kFloat), labels.to(at::kFloat), {}, {},
                                              at::Reduction::None);
}

class ReplacedTokenEvaluation : public Evaluation {
 public:
  explicit ReplacedTokenEvaluation(double weight) : weight_(weight) {}

  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) override {
    const at::NoGradGuard no_grad;
    std::vector<Sums> sums(batch.items.size());
    const auto masked = batching::stage_input(batch, pass.layout.positions.device());
    at::Tensor drawn;
    if (!batch.targets.empty()) {
      auto& generator = generator_in(model);
      batching::RowFigures figures;
      drawn =
          drawn_by(generator, generator_features(generator, masked, batch, pass), uniforms(batch),
                   [&](const at::Tensor& logits, int64_t begin) {
                     const auto first = batch.targets.begin() + begin;
                     figures.append(batching::row_figures(logits, {first, first + logits.size(0)}));
                   });
      add_guesses(figures, batch, sums);
    }
    const auto replaced = replaced_by(masked, batch, drawn);
    add_verdicts(verdicts(model, replaced.input, pass), replaced.labels, batch, sums);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      records_.push_back({.item = batch.items[i], .sums = sums[i]});
    }
  }

  std::map<std::string, double> result() const override {
    auto records = records_;  // the order of summation must not depend on how batches were cut
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.item < b.item; });
    Sums sums;
    for (const auto& record : records) {
      sums.add(record.sums);
    }
    std::map<std::string, double> result;
    for (const auto& [name, value] : figures_of(sums)) {
      result["eval_" + name] = value;
    }
    result["eval_loss"] =
        result.at("eval_generator_loss") + weight_ * result.at("eval_discriminator_loss");
    return result;
  }

 private:
  struct Record {
    int64_t item = 0;
    Sums sums;
  };

  /// A pure function of the item and of the place in it, however batches are cut.
  static at::Tensor uniforms(const data::Batch& batch) {
    constexpr uint64_t kSeed = 0;
    std::vector<double> numbers;
    visit_targets(batch, [&](std::size_t sequence, std::size_t target) {
      const auto place = batch.target_rows[target] - batch.offsets[sequence];
      numbers.push_back(Random(kSeed, Purpose::kGenerator,
                               static_cast<uint64_t>(batch.items[sequence]),
                               static_cast<uint64_t>(place))
                            .uniform_double());
    });
    return at::tensor(numbers, at::kDouble);
  }

  template <class Visit>
  static void visit_targets(const data::Batch& batch, const Visit& visit) {
    std::size_t sequence = 0;
    for (std::size_t target = 0; target < batch.targets.size(); ++target) {
      while (batch.target_rows[target] >= batch.offsets[sequence + 1]) {
        ++sequence;
      }
      visit(sequence, target);
    }
  }

  static void add_guesses(const batching::RowFigures& figures,
                          const data::Batch& batch,
                          std::vector<Sums>& sums) {
    visit_targets(batch, [&](std::size_t sequence, std::size_t target) {
      auto& sum = sums[sequence];
      sum.generator_loss += figures.losses[target];
      sum.hidden += 1;
      sum.guessed += figures.best[target] == batch.targets[target] ? 1 : 0;
    });
  }

  static void add_verdicts(const at::Tensor& logits,
                           const at::Tensor& labels,
                           const data::Batch& batch,
                           std::vector<Sums>& sums) {
    const auto losses = token_losses(logits, labels).cpu();
    const auto said = at::gt(logits, 0).cpu();
    const auto wanted = labels.cpu();
    const auto* const loss = losses.const_data_ptr<float>();
    const auto* const is_found = said.const_data_ptr<bool>();
    const auto* const is_replaced = wanted.const_data_ptr<bool>();
    for (std::size_t sequence = 0; sequence < sums.size(); ++sequence) {
      auto& sum = sums[sequence];
      for (auto row = batch.offsets[sequence]; row < batch.offsets[sequence + 1]; ++row) {
        sum.discriminator_loss += loss[row];
        sum.tokens += 1;
        sum.replaced += is_replaced[row] ? 1 : 0;
        sum.found += is_found[row] ? 1 : 0;
        sum.hits += is_found[row] && is_replaced[row] ? 1 : 0;
      }
    }
  }

  double weight_;
  std::vector<Record> records_;
};

class ReplacedTokenObjective : public Objective {
 public:
  explicit ReplacedTokenObjective(const ObjectiveOptions& options)
      : weight_(options.replaced_token.weight) {}

  models::Head head() const override { return models::Head::kReplacedToken; }
  std::vector<std::string> terms() const override { return {"generator", "discriminator"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size()), batch.tokens()};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::Pass& pass) const override {
    const auto masked = batching::stage_input(batch, pass.layout.positions.device());
    auto& generator = generator_in(model);
    const auto features = generator_features(generator, masked, batch, pass);
    auto loss = at::zeros({}, at::device(masked.ids.device()).dtype(at::kFloat));
    auto guessed = at::zeros({}, at::device(masked.ids.device()).dtype(at::kLong));
    at::Tensor drawn;
    if (features.defined()) {
      const auto targets = kernels::to_device(batch.targets, features.device());
      loss = kernels::linear_cross_entropy(features, generator.output_weight(),
                                           generator.output_bias(), targets);
      drawn = drawn_by(generator, features, uniforms(batch, pass),
                       [&](const at::Tensor& logits, int64_t begin) {
                         const auto right = targets.slice(0, begin, begin + logits.size(0));
                         guessed = guessed + at::eq(logits.argmax(1), right).sum();
                       });
    }
    const auto replaced = replaced_by(masked, batch, drawn);
    const auto logits = verdicts(model, replaced.input, pass);  // (N)
    const auto found_out = kernels::total(token_losses(logits, replaced.labels));
    return {loss, found_out * weight_,
            at::cat({sums_of(loss, batch.targets.size(), guessed),
                     sums_of(found_out, batch.ids.size(), replaced.labels.sum()),
                     at::stack(verdict_counts(logits, replaced.labels)).to(at::kDouble)})};
  }

  int64_t tallies() const override { return Sums::kSize; }
  std::map<std::string, double> figures(const std::vector<double>& tallies) const override {
    return figures_of(Sums::of(tallies));
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<ReplacedTokenEvaluation>(weight_);
  }

 private:
  /// A pure function of seed, step and the place in the step, however it is cut into micro-batches.
  static at::Tensor uniforms(const data::Batch& batch, const nn::Pass& pass) {
    std::vector<double> numbers;
    for (const auto row : batch.target_rows) {
      numbers.push_back(Random(pass.seed, Purpose::kGenerator, pass.step,
                               static_cast<uint64_t>(pass.first_row + row))
                            .uniform_double());
    }
    return at::tensor(numbers, at::kDouble);
  }

  /// Loss, targets and a count of a term, as Sums has them: (3) doubles.
  static at::Tensor sums_of(const at::Tensor& loss, std::size_t targets, const at::Tensor& count) {
    const auto doubles = at::device(loss.device()).dtype(at::kDouble);
    return at::stack({loss.detach().to(at::kDouble),
                      at::scalar_tensor(static_cast<double>(targets), doubles),
                      count.to(at::kDouble)});
  }

  /// Tokens that are said to be replaced, and of them those that are.
  static std::vector<at::Tensor> verdict_counts(const at::Tensor& logits,
                                                const at::Tensor& labels) {
    const auto said = at::gt(logits.detach(), 0);
    return {said.sum(), at::logical_and(said, labels).sum()};
  }

  double weight_;
};

}  // namespace

std::unique_ptr<Objective> make_replaced_token_objective(const ObjectiveOptions& options) {
  return std::make_unique<ReplacedTokenObjective>(options);
}

}  // namespace weft::objectives
