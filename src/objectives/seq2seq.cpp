#include "objectives/seq2seq.h"

#include <algorithm>
#include <cmath>

#include "batching/hidden_states.h"
#include "data/datasets/parallel_dataset.h"
#include "models/config/family_definition.h"
#include "objectives/data/sample_example.h"
#include "objectives/evaluation/token_evaluation.h"

namespace weft::objectives {

namespace {

class Seq2SeqObjective : public Objective {
 public:
  Seq2SeqObjective(const ObjectiveOptions& options, std::string name, double target_fraction)
      : smoothing_(options.seq2seq.label_smoothing),
        name_(std::move(name)),
        target_fraction_(target_fraction) {}

  models::Head head() const override { return models::Head::kConditional; }
  std::vector<std::string> terms() const override { return {name_}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {token_loss(model, batching::target_states(model, batch, context), batch, smoothing_)};
  }

  std::unique_ptr<Evaluation> evaluation() const override { return make_token_evaluation(); }

  /// Of an encoder-decoder the source has `length` tokens; a decoder alone reads both in one
  /// sequence.
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    if (!models::is_encoder_decoder(model)) {
      auto example = sample_input(model, length);
      example.prefix_length = std::llround((1 - target_fraction_) * static_cast<double>(length));
      add_sample_targets(example, 1, model.vocabulary, example.prefix_length);
      return example;
    }
    const double per_source_token = target_fraction_ / (1 - target_fraction_);
    const auto targets = std::llround(per_source_token * static_cast<double>(length));
    auto example = sample_input(model, std::clamp<int64_t>(targets, 1, model.length));
    example.source_ids = sample_input(model, length).ids;
    add_sample_targets(example, 1, model.vocabulary);
    return example;
  }

 private:
  double smoothing_;
  std::string name_;
  double target_fraction_;
};

}  // namespace

void read_seq2seq_options(config::Section& section, Seq2SeqOptions& options) {
  constexpr std::string_view kOnly = "type: seq2seq";
  section.read("source_prefix", options.prefix,
               {.help = "Text put before every source text (task prefix), as in T5: `\"translate "
                        "English to German: \"`.",
                .only_if = kOnly});
  section.read("source_language", options.source_language,
               {.help = "Language token of the sources, for tokenizers with language tokens "
                        "(mbart: en_XX); items with `language` or `target_language` override it. "
                        "Empty: the tokenizer's default.",
                .only_if = kOnly});
  section.read("target_language", options.target_language,
               {.help = "Language token of the targets; see source_language.", .only_if = kOnly});
}

std::unique_ptr<Objective> make_seq2seq_objective(const ObjectiveOptions& options,
                                                  const std::string& name,
                                                  double target_fraction) {
  return std::make_unique<Seq2SeqObjective>(options, name, target_fraction);
}

Datasets parallel_datasets(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           int64_t length,
                           const data::ProgressVisitor& progress) {
  // mBART's decoder begins with the last token of its text, the language (arXiv:2001.08210).
  const bool begins_with_last = model.family == models::Family::kMbart;
  const data::ParallelSettings settings{
      .length = length,
      .truncation = options.truncation.value_or(data::Truncation::kTruncate),
      .prefix = objective.seq2seq.prefix,
      .start_id = begins_with_last ? -1 : model.decoder.decoder_start_id,
      .source_language = objective.seq2seq.source_language,
      .target_language = objective.seq2seq.target_language,
      .takes_item_languages = begins_with_last,
      .is_joined = model.is_prefix_lm};
  const auto make = [&](const std::vector<data::DataItem>& items, const std::string& which,
                        Datasets& result) -> std::shared_ptr<const data::Dataset> {
    if (items.empty()) {
      return nullptr;
    }
    const auto dataset = data::make_parallel_dataset(items, options, settings, tokenizer, progress);
    for (const auto& remark : dataset->remarks()) {
      result.remarks.push_back(which + ": " + remark);
    }
    return dataset;
  };
  Datasets result;
  result.train = make(options.train, "train", result);
  result.evaluate = make(options.evaluate, "evaluate", result);
  return result;
}

}  // namespace weft::objectives
