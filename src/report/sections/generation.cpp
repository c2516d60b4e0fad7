#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "inference/generate.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "report/examples.h"
#include "report/markup.h"
#include "report/sections/sections.h"
#include "report/text_diff.h"

namespace weft::report {

namespace {

constexpr int64_t kLongestSample = 120;   // tokens of an example
constexpr int64_t kBeams = 4;
constexpr int64_t kReturned = 3;    // texts of a beam search
constexpr int64_t kShownTokens = 80;

/// Probability of each target of the batch, and the token that is most likely in its place.
struct TargetProbabilities {
  std::vector<double> probabilities;
  std::vector<int64_t> likeliest;
};

TargetProbabilities target_probabilities(const LoadedRun& run, const data::Batch& batch) {
  const at::NoGradGuard guard;
  const auto context = batching::context_of(batch, run.model->device());
  const auto logits =
      run.model->lm_logits(batching::target_states(*run.model, batch, context)).to(at::kFloat);
  const auto probabilities = logits.softmax(1);  // (M, V)
  const auto targets = at::tensor(batch.targets, at::kLong).to(logits.device());
  const auto chosen =
      probabilities.gather(1, targets.unsqueeze(1)).squeeze(1).to(at::kDouble).cpu().contiguous();
  const auto best = probabilities.argmax(1).cpu().contiguous();
  const auto* chosen_data = chosen.const_data_ptr<double>();
  const auto* best_data = best.const_data_ptr<int64_t>();
  return {.probabilities = {chosen_data, chosen_data + chosen.numel()},
          .likeliest = {best_data, best_data + best.numel()}};
}

/// The targets, shaded by their probability.
std::vector<TextSpan> shaded_targets(const data::Tokenizer& tokenizer,
                                     const data::Batch& batch,
                                     const TargetProbabilities& found) {
  std::vector<TextSpan> spans;
  const auto shown = std::min<std::size_t>(batch.targets.size(), kShownTokens);
  const auto pieces = pieces_of(tokenizer, batch.targets);
  for (std::size_t i = 0; i < shown; ++i) {
    spans.push_back({.text = pieces[i],
                     .kind = TextSpan::Kind::kWeighted,
                     .weight = found.probabilities[i]});
    spans.push_back({.text = " "});
  }
  return spans;
}

std::vector<TextSpan> plain(std::string text) { return {{.text = std::move(text)}}; }

inference::GenerationSettings settings_of(const LoadedRun& run, bool reads_source) {
  inference::GenerationSettings settings{
      .config = models::read_generation_config(run.directory, run.model->options())};
  settings.config.max_new_tokens = kLongestSample;
  settings.config.max_length.reset();
  if (reads_source) {
    settings.config.search.num_beams = kBeams;
    settings.config.search.num_return_sequences = kReturned;
  }
  return settings;
}

/// A source with its reference and the generated texts, or a beginning and its continuations.
void add_generated(const LoadedRun& run,
                   inference::TextGenerator& generator,
                   const data::Batch& batch,
                   Page& page) {
  const bool reads_source = !batch.source_ids.empty();
  const auto& target = run.tokenizer->target();
  const auto half = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, batch.ids.size() / 2));
  const models::Tokens prompt = reads_source
                                    ? models::Tokens(batch.source_ids)
                                    : models::Tokens(batch.ids.begin(), batch.ids.begin() + half);
  const auto reference =
      reads_source ? target.decode({batch.targets.begin(), batch.targets.end()})
                   : target.decode({batch.ids.begin() + half, batch.ids.end()});
  const auto results = generator.generate({{.prompt = "", .ids = prompt}}, 0);
  std::vector<SampleText> texts = {
      {.name = reads_source ? "Source" : "Prompt",
       .spans = plain(run.tokenizer->decode({prompt.begin(), prompt.end()}))},
      {.name = reads_source ? "Reference" : "Original", .spans = plain(reference)}};
  int64_t rank = 1;
  for (const auto& text : results.front().texts) {
    texts.push_back({.name = str_cat("Generated ", rank++, " (score ", number_text(text.score, 4), ")"),
                     .spans = reads_source ? word_differences(reference, text.text)
                                           : plain(text.text)});
  }
  texts.push_back({.name = "Probability of each token",
                   .spans = shaded_targets(target, batch, target_probabilities(run, batch))});
  page.add_sample(texts);
}

/// A text with masked tokens, and what the model predicts for them.
void add_masked(const LoadedRun& run, const data::Batch& batch, Page& page) {
  if (batch.targets.empty()) {
    return;
  }
  const auto found = target_probabilities(run, batch);
  std::vector<TextSpan> spans;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const auto target = run.tokenizer->piece(static_cast<int32_t>(batch.targets[i]));
    const auto likeliest = run.tokenizer->piece(static_cast<int32_t>(found.likeliest[i]));
    spans.push_back({.text = target == likeliest ? target : str_cat(target, " (", likeliest, ")"),
                     .kind = TextSpan::Kind::kWeighted,
                     .weight = found.probabilities[i]});
    spans.push_back({.text = " "});
  }
  page.add_sample({{.name = "Input",
                    .spans = plain(run.tokenizer->decode({batch.ids.begin(), batch.ids.end()},
                                                         false))},
                   {.name = "Targets, shaded by their probability (the likeliest token)",
                    .spans = std::move(spans)}});
}

}  // namespace

void add_generation(const ReportInput& input, Page& page) {
  if (!input.loaded || input.dataset() == nullptr || !input.loaded->tokenizer) {
    return;
  }
  const auto& run = *input.loaded;
  const auto& head = models::head_of(run.model->options());
  const auto items = short_items(*input.dataset(), input.options.examples, kLongestSample);
  if (head.predicts_masked_tokens()) {
    for (const auto item : items) {
      add_masked(run, batch_of(*input.dataset(), item), page);
    }
    return;
  }
  if (!head.generates) {
    return;
  }
  const auto& reads_source = head.reads_source;
  inference::TextGenerator generator(*run.model, run.tokenizer, settings_of(run, reads_source));
  if (reads_source) {
    page.note("Differences from the reference are marked: added words are underlined, missing "
              "words struck out.");
  }
  for (const auto item : items) {
    add_generated(run, generator, batch_of(*input.dataset(), item), page);
  }
}

}  // namespace weft::report
