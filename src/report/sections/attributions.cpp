#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/autograd.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "report/examples.h"
#include "report/markup.h"
#include "report/recorded_attention.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kLongestAttributed = 60;  // tokens of an example
constexpr int64_t kIntegrationSteps = 32;
constexpr int64_t kTopWords = 15;          // of each class
constexpr std::size_t kListedClasses = 6;  // with a list of words

/// The model's word embeddings, replaced by other rows as long as this object lives.
class ReplacedEmbeddings {
 public:
  ReplacedEmbeddings(const at::Tensor& weight, const at::Tensor& rows)
      : weight_(weight), stored_(weight.data()), had_gradient_(weight.requires_grad()) {
    weight_.set_data(rows);
    weight_.set_requires_grad(true);
  }
  ReplacedEmbeddings(const ReplacedEmbeddings&) = delete;
  ReplacedEmbeddings& operator=(const ReplacedEmbeddings&) = delete;
  ~ReplacedEmbeddings() {
    weight_.set_requires_grad(had_gradient_);
    weight_.set_data(stored_);
  }

 private:
  at::Tensor weight_;
  at::Tensor stored_;
  bool had_gradient_;
};

struct Attribution {
  int64_t predicted = 0;
  double logit = 0;                  // of the predicted class
  double baseline = 0;               // with all embeddings zero
  std::vector<double> attributions;  // of the tokens; they add up to logit - baseline, nearly
};

/// Logits (B, C) of copies of a sequence, whose tokens are rows of the replaced embeddings.
at::Tensor logits_of_copies(models::Model& model, const data::Example& example, int64_t copies) {
  data::Batch batch;
  for (int64_t copy = 0; copy < copies; ++copy) {
    auto own = example;
    for (std::size_t i = 0; i < own.ids.size(); ++i) {
      own.ids[i] = copy * static_cast<int64_t>(own.ids.size()) + static_cast<int64_t>(i);
    }
    batch.add(copy, own);
  }
  const auto on_device = batching::to_device(batch, model.device());
  return model.classifier_logits(on_device.input, on_device.context).front().to(at::kFloat);
}

/// Integrated gradients (arXiv:1703.01365) from embeddings of zero, by the midpoint rule.
Attribution integrated_gradients(models::Model& model, const data::Example& example) {
  const auto weight = model.input_embeddings();
  const auto ids = kernels::to_device(example.ids, weight.device());
  const auto rows = weight.detach().index_select(0, ids).to(at::kFloat);  // (L, E)
  Attribution result;
  {
    const ReplacedEmbeddings replaced(weight, at::cat({at::zeros_like(rows), rows}));
    const at::NoGradGuard guard;
    const auto logits = logits_of_copies(model, example, 2);
    result.predicted = logits[1].argmax().item<int64_t>();
    result.baseline = logits[0][result.predicted].item<double>();
    result.logit = logits[1][result.predicted].item<double>();
  }
  std::vector<at::Tensor> points;
  for (int64_t step = 0; step < kIntegrationSteps; ++step) {
    points.push_back(rows * ((static_cast<double>(step) + 0.5) / kIntegrationSteps));
  }
  const ReplacedEmbeddings replaced(weight, at::cat(points));
  const auto sum =
      logits_of_copies(model, example, kIntegrationSteps).select(1, result.predicted).sum();
  const auto gradient = torch::autograd::grad({sum}, {weight}).front();
  const auto mean = gradient.view({kIntegrationSteps, rows.size(0), rows.size(1)}).mean(0);
  result.attributions = values_of((mean * rows).sum(1));
  return result;
}

/// Words with the largest and the smallest weights of each class, of a linear model.
void add_top_words(const LoadedRun& run, const at::Tensor& weights, Page& page) {
  const auto count = std::min<int64_t>(kTopWords, weights.size(0));
  const auto classes = std::min<int64_t>(weights.size(1), kListedClasses);
  for (int64_t id = 0; id < classes; ++id) {
    Table table{.caption = "Words with the largest weights: " + label_name(run, id),
                .columns = {"Word", "Weight"},
                .rows = {}};
    const auto [values, rows] = weights.select(1, id).to(at::kDouble).topk(count);
    for (int64_t i = 0; i < count; ++i) {
      table.rows.push_back({shown_token(*run.tokenizer, rows[i].item<int64_t>()),
                            number_text(values[i].item<double>(), 4)});
    }
    page.add(table);
  }
}

bool can_be_attributed(const LoadedRun& run) {
  const auto& options = run.model->options();
  const auto weight = run.model->input_embeddings();
  return models::head_of(options).classifies_sequences && !options.is_regression &&
         !models::reads_images(options) && weight.defined() && weight.is_leaf() &&
         weight.scalar_type() == at::kFloat;
}

/// Tokens shaded by their values, relative to the largest.
std::vector<TextSpan> shaded_tokens(const LoadedRun& run,
                                    const data::Example& example,
                                    const std::vector<double>& values) {
  double largest = 1e-12;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  std::vector<TextSpan> spans;
  const auto tokens = shown_tokens(*run.tokenizer, example.ids);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    spans.push_back(
        {.text = tokens[i], .kind = TextSpan::Kind::kWeighted, .weight = values[i] / largest});
    spans.push_back({.text = " "});
  }
  return spans;
}

/// Attention rollout from the token that the classifier reads: the first, of a decoder the last.
/// Empty for types of attention without weights.
std::vector<double> rollout_to_tokens(const LoadedRun& run, const data::Example& example) {
  try {
    const auto rollout = attention_rollout(recorded_attention(run, batch_of(example)).layers);
    if (!rollout.defined()) {
      return {};
    }
    const auto last = rollout.size(0) - 1;
    const bool is_causal = last > 0 && rollout[0][last].item<double>() == 0;
    return values_of(rollout[is_causal ? last : 0]);
  } catch (const c10::Error&) {
    return {};
  }
}

void add_example(const LoadedRun& run, const data::Example& example, Page& page) {
  const auto result = integrated_gradients(*run.model, example);
  const double sum = std::accumulate(result.attributions.begin(), result.attributions.end(), 0.0);
  std::vector<SampleText> texts = {
      {.name = "Prediction", .spans = {{.text = label_name(run, result.predicted)}}},
      {.name = "Label", .spans = {{.text = label_name(run, example.label)}}},
      {.name = "Integrated gradients", .spans = shaded_tokens(run, example, result.attributions)},
      {.name = "Their sum",
       .spans = {{.text = str_cat(number_text(sum, 4), " of a difference in the logit of ",
                                  number_text(result.logit - result.baseline, 4))}}}};
  if (const auto rollout = rollout_to_tokens(run, example); !rollout.empty()) {
    texts.push_back({.name = "Attention rollout", .spans = shaded_tokens(run, example, rollout)});
  }
  page.add_sample(texts);
}

}  // namespace

void add_attributions(const ReportInput& input, Page& page) {
  if (!input.loaded || !input.loaded->tokenizer) {
    return;
  }
  auto& run = *input.loaded;
  if (const auto weights = run.model->token_class_weights(); weights.defined()) {
    add_top_words(run, weights.detach().cpu(), page);
  }
  if (input.dataset() == nullptr || !can_be_attributed(run)) {
    return;
  }
  page.note(
      "Integrated gradients: how much each token adds to the logit of the predicted class, "
      "compared "
      "with a text whose word embeddings are zero. Attention rollout: how much of each token "
      "reaches the position that the classifier reads, if attention weights were all that mixes "
      "tokens. Both describe the computation of this model; neither proves what caused the "
      "prediction.");
  for (const auto& example :
       short_examples(*input.dataset(), input.options.examples, kLongestAttributed)) {
    add_example(run, example, page);
  }
}

}  // namespace weft::report
