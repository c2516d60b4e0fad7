#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "inference/generate.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/inference.h"
#include "report/examples.h"
#include "report/markup.h"
#include "report/page/page.h"
#include "report/sections/sections.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::report {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestSample = 120;  // tokens of an example
constexpr int64_t kBeams = 4;
constexpr int64_t kReturned = 3;  // texts of a beam search
constexpr int64_t kShownTokens = 80;
constexpr std::size_t kShownExampleLetters = 160;  // of an example
constexpr std::size_t kLongestPrompt = 24;         // of a continuation
constexpr std::size_t kSnapshots = 4;              // saved models

/// Probability of each target of the batch, and the token that is most likely in its place.
struct TargetProbabilities {
  std::vector<double> probabilities;
  std::vector<int64_t> likeliest;
};

TargetProbabilities target_probabilities(models::Model& model, const data::Batch& batch) {
  const at::NoGradGuard guard;
  const auto context = batching::context_of(batch, model.device());
  const auto logits =
      model.lm_logits(batching::target_states(model, batch, context)).to(at::kFloat);
  const auto probabilities = logits.softmax(1);  // (M, V)
  const auto targets = at::tensor(batch.targets, at::kLong).to(logits.device());
  const auto best = probabilities.argmax(1).cpu().contiguous();
  const auto* best_data = best.const_data_ptr<int64_t>();
  return {.probabilities = values_of(probabilities.gather(1, targets.unsqueeze(1)).squeeze(1)),
          .likeliest = {best_data, best_data + best.numel()}};
}

/// The targets, shaded by their probability.
std::vector<TextSpan> shaded_targets(const data::Tokenizer& tokenizer,
                                     const data::Batch& batch,
                                     const TargetProbabilities& found) {
  std::vector<TextSpan> spans;
  const auto shown = std::min<std::size_t>(batch.targets.size(), kShownTokens);
  const auto pieces = shown_tokens(tokenizer, batch.targets);
  for (std::size_t i = 0; i < shown; ++i) {
    spans.push_back(
        {.text = pieces[i], .kind = TextSpan::Kind::kWeighted, .weight = found.probabilities[i]});
    spans.push_back({.text = " "});
  }
  return spans;
}

std::vector<TextSpan> plain(std::string text) { return {{.text = std::move(text)}}; }

/// A saved model of the run, ready for inference.
struct Snapshot {
  std::string name;  // `checkpoint-300`
  std::shared_ptr<models::Model> model;
};

std::string snapshot_name(const std::string& directory) {
  return fs::canonical(directory).filename().string();
}

Snapshot load_snapshot(const std::string& directory, const ReportOptions& options) {
  return {.name = snapshot_name(directory),
          .model = models::load_for_inference(directory, models::read_model_config(directory),
                                              options.inference)
                       .model};
}

/// The model of the page, then the other checkpoints of the run, the newest first. `are_copies`: no
/// other section sees what happens to them.
std::vector<Snapshot> snapshots_of(const ReportInput& input, bool are_copies = false) {
  const auto& directory = input.loaded->directory;
  std::vector<Snapshot> snapshots = {are_copies
                                         ? load_snapshot(directory, input.options)
                                         : Snapshot{snapshot_name(directory), input.loaded->model}};
  const auto run = input.runs.front().summary.directory;
  auto steps = train::checkpoint_steps(run);
  std::ranges::sort(steps, std::ranges::greater());
  for (const auto step : steps) {
    const auto other = run + "/" + train::checkpoint_name(step);
    if (snapshots.size() < kSnapshots && !fs::equivalent(other, directory)) {
      snapshots.push_back(load_snapshot(other, input.options));
    }
  }
  return snapshots;
}

/// Generates texts with one saved model, which can do nothing else from then on.
class SnapshotGenerator {
 public:
  SnapshotGenerator(Snapshot snapshot, const LoadedRun& run, bool reads_source)
      : snapshot_(std::move(snapshot)) {
    inference::GenerationSettings settings{
        .config = models::read_generation_config(run.directory, run.model->options())};
    settings.config.max_new_tokens = kLongestSample;
    settings.config.max_length.reset();
    if (reads_source) {
      settings.config.search.num_beams = kBeams;
      settings.config.search.num_return_sequences = kReturned;
    }
    generator_ = std::make_unique<inference::TextGenerator>(*snapshot_.model, run.tokenizer,
                                                            std::move(settings));
  }

  const std::string& name() const { return snapshot_.name; }
  std::vector<inference::GeneratedText> generate(const models::Tokens& prompt) {
    return generator_->generate({{.prompt = "", .ids = prompt}}, 0).front().texts;
  }

 private:
  Snapshot snapshot_;
  std::unique_ptr<inference::TextGenerator> generator_;
};

/// A source with its reference and the generated texts, or a beginning and its continuations: all
/// that the first model returns, and the best one of each other.
void add_generated(const LoadedRun& run,
                   std::vector<SnapshotGenerator>& generators,
                   const data::Batch& batch,
                   Page& page) {
  const bool reads_source = !batch.source_ids.empty();
  const auto& target = run.tokenizer->target();
  const auto half =
      static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(batch.ids.size() / 2, 1, kLongestPrompt));
  const models::Tokens prompt = reads_source
                                    ? models::Tokens(batch.source_ids)
                                    : models::Tokens(batch.ids.begin(), batch.ids.begin() + half);
  const auto reference = reads_source ? target.decode({batch.targets.begin(), batch.targets.end()})
                                      : target.decode({batch.ids.begin() + half, batch.ids.end()});
  std::vector<SampleText> texts = {
      {.name = reads_source ? "Source" : "Prompt",
       .spans = plain(run.tokenizer->decode({prompt.begin(), prompt.end()}))},
      {.name = reads_source ? "Reference" : "Original", .spans = plain(reference)}};
  for (auto& generator : generators) {
    for (const auto& text : generator.generate(prompt)) {
      texts.push_back(
          {.name = str_cat(generator.name(), ", score ", number_text(text.score, 4)),
           .spans = reads_source ? word_differences(reference, text.text) : plain(text.text)});
      if (&generator != &generators.front()) {
        break;
      }
    }
  }
  texts.push_back(
      {.name = "Probability of each token",
       .spans = shaded_targets(target, batch, target_probabilities(*run.model, batch))});
  page.add_sample(texts);
}

/// The targets, shaded by their probability, with the likeliest token where that is another one.
std::vector<TextSpan> masked_predictions(const LoadedRun& run,
                                         const data::Batch& batch,
                                         const TargetProbabilities& found) {
  std::vector<TextSpan> spans;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const auto target = shown_token(*run.tokenizer, batch.targets[i]);
    const auto likeliest = shown_token(*run.tokenizer, found.likeliest[i]);
    spans.push_back({.text = target == likeliest ? target : str_cat(target, " (", likeliest, ")"),
                     .kind = TextSpan::Kind::kWeighted,
                     .weight = found.probabilities[i]});
    spans.push_back({.text = " "});
  }
  return spans;
}

/// A text with masked tokens, and what each model predicts for them.
void add_masked(const LoadedRun& run,
                const std::vector<Snapshot>& snapshots,
                const data::Batch& batch,
                Page& page) {
  if (batch.targets.empty()) {
    return;
  }
  std::vector<SampleText> texts = {
      {.name = "Input",
       .spans = plain(run.tokenizer->decode({batch.ids.begin(), batch.ids.end()}, false))}};
  for (const auto& [name, model] : snapshots) {
    texts.push_back({.name = name,
                     .spans = masked_predictions(run, batch, target_probabilities(*model, batch))});
  }
  page.add_sample(texts);
}

/// What a model predicts for one text or image: a class and its probability, or a number.
std::string prediction_text(const LoadedRun& run, models::Model& model, const data::Batch& batch) {
  const at::NoGradGuard guard;
  const auto on_device = batching::to_device(batch, model.device());
  const auto logits = model.classify(on_device.input, on_device.context)[0].to(at::kFloat);  // (C)
  if (model.options().is_regression) {
    return number_text(logits[0].item<double>(), 4);
  }
  const auto probabilities = model.options().is_multi_label ? logits.sigmoid() : logits.softmax(0);
  const auto best = probabilities.argmax().item<int64_t>();
  return str_cat(label_name(run, best), " ", number_text(probabilities[best].item<double>(), 3));
}

/// Predictions of every saved model for the same examples.
void add_class_predictions(const ReportInput& input,
                           const std::vector<data::Example>& examples,
                           Page& page) {
  const auto& run = *input.loaded;
  const auto snapshots = snapshots_of(input);
  Table table{.caption = "Predictions of the saved models, with their probabilities",
              .columns = {"Example", "Label"},
              .rows = {}};
  for (const auto& snapshot : snapshots) {
    table.columns.push_back(snapshot.name);
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto& example = examples[i];
    const bool is_image = models::reads_images(run.model->options());
    auto& row = table.rows.emplace_back();
    row.push_back(is_image ? str_cat("image ", i)
                           : text_of(*run.tokenizer, example.ids, kShownExampleLetters));
    row.push_back(!example.values.empty() ? number_text(example.values.front(), 4)
                                          : label_name(run, example.label));
    for (const auto& snapshot : snapshots) {
      row.push_back(prediction_text(run, *snapshot.model, batch_of(example)));
    }
  }
  page.add(table);
}

}  // namespace

void add_generation(const ReportInput& input, Page& page) {
  if (!input.loaded || input.dataset() == nullptr || !input.loaded->tokenizer) {
    return;
  }
  const auto& run = *input.loaded;
  const auto& head = models::head_of(run.model->options());
  const auto examples = short_examples(*input.dataset(), input.options.examples, kLongestSample);
  if (head.predicts_masked_tokens() && !run.model->options().document) {
    page.note(
        "Masked tokens, shaded by the probability that the model gives them; in brackets the "
        "likeliest token, if it is another one.");
    const auto snapshots = snapshots_of(input);
    for (const auto& example : examples) {
      add_masked(run, snapshots, batch_of(example), page);
    }
  }
  if (head.classifies_sequences) {
    add_class_predictions(input, examples, page);
  }
  if (!head.generates) {
    return;
  }
  if (head.reads_source) {
    page.note(
        "Differences from the reference are marked: added words are underlined, missing "
        "words struck out.");
  }
  std::vector<SnapshotGenerator> generators;
  for (auto& snapshot : snapshots_of(input, /*are_copies=*/true)) {
    generators.emplace_back(std::move(snapshot), run, head.reads_source);
  }
  for (const auto& example : examples) {
    add_generated(run, generators, batch_of(example), page);
  }
}

}  // namespace weft::report
