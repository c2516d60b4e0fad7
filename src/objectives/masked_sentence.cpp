#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "base/random.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/model_inputs.h"
#include "data/datasets/masked_sentences.h"
#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/masked_lm.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

constexpr config::Range kSentenceShare = {.min = 0, .max = 1};

/// The decoder's input: each sentence shifted right, after the token that ends it.
std::vector<int64_t> decoder_ids(const data::Batch& batch, const std::vector<int64_t>& lengths) {
  std::vector<int64_t> ids;
  ids.reserve(batch.targets.size());
  auto begin = batch.targets.begin();
  for (const auto length : lengths) {
    const auto last = begin + length - 1;
    ids.push_back(*last);
    ids.insert(ids.end(), begin, last);
    begin = last + 1;
  }
  return ids;
}

/// The rows of the batch that hold the states of the sentences with targets.
std::vector<int64_t> sentence_rows(const data::Batch& batch) {
  auto rows = batch.target_rows;
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

/// For the decoder's rows, with different dropout from the encoder's. A sequence is a sentence with
/// targets, a row one of these.
nn::ForwardContext decoder_context(const nn::ForwardContext& context,
                                   const nn::EncoderStates& sentences) {
  constexpr uint64_t kDecoderStream = 4;
  const auto& lengths = context.sentences.targets;
  auto own = context;
  own.layout = kernels::Layout::from_lengths(lengths, context.layout.positions.device());
  own.token_types = at::Tensor();
  own.seed = hash_combine(context.seed, kDecoderStream);
  own.first_row = context.first_target;
  own.first_sequence = std::ssize(context.earlier_sentences.targets);
  own.earlier_lengths = context.earlier_sentences.targets;
  own.sentences = {};
  own.earlier_sentences = {};
  own.attention_recorder = nullptr;
  own.encoder_states = &sentences;
  return own;
}

/// The decoder's states, from which the targets are predicted: (M, D).
nn::TokenStates decoder_states(models::Model& model,
                               const data::Batch& batch,
                               const nn::ForwardContext& context) {
  const auto device = context.layout.positions.device();
  const auto input = batching::input_to_device(batch, device);
  const auto rows = nn::RowSelection::from_rows(sentence_rows(batch), context,
                                                std::ssize(context.earlier_sentences.targets));
  auto states = model.selected_hidden_states(input, context, rows);  // (K, D)
  if (batch.targets.empty()) {
    return states;
  }
  const std::vector<int64_t> single(context.sentences.targets.size(), 1);
  const nn::EncoderStates sentences{.states = states,
                                    .layout = kernels::Layout::from_lengths(single, device)};
  models::TextInput shifted{
      .ids = kernels::to_device(decoder_ids(batch, context.sentences.targets), device)};
  if (input.types.defined()) {
    shifted.types = input.types.index_select(0, kernels::to_device(batch.target_rows, device));
  }
  return model.hidden(shifted, decoder_context(context, sentences));
}

class MaskedSentenceObjective : public Objective {
 public:
  explicit MaskedSentenceObjective(const data::MaskedSentenceOptions& options)
      : options_(options) {}

  std::string_view name() const override { return "masked_sentence"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kMaskedLm;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    auto wrong = requires_text_head(name(), model, models::Head::kMaskedLm,
                                    "masked language modelling head");
    if (!wrong && !model.document) {
      return cannot_train(name(), model,
                          "reads documents as one text; set model.document.type to hibert or "
                          "hi_transformer");
    }
    return wrong;
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true, .reads_sentences = true};
  }
  std::vector<std::string> terms() const override { return {"masked_sentence"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {token_loss(model, decoder_states(model, batch, context), batch, context)};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_token_evaluation("masked_sentence", decoder_states);
  }

  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    double due = 0;
    int64_t end = 0;
    for (const auto sentence : example.sentence_lengths) {
      end += sentence;
      due += options_.fraction;
      if (due >= 1 || end == length) {
        due -= 1;
        example.targets.insert(example.targets.end(), example.ids.begin() + end - sentence,
                               example.ids.begin() + end);
        example.target_positions.resize(example.targets.size(), end - 1);
      }
    }
    return example;
  }
  data::DataOptions store_options(const data::DataOptions& data,
                                  const models::ModelOptions& /*model*/) const override {
    return data::divided_into_sentences(data);
  }
  void check_training(const TrainingSetup& setup) const override {
    if (setup.data.pack != data::Pack::kDocument) {
      setup.data_section.report("pack", "sentences are masked within documents, must be document");
    }
    if (setup.data.sentence != data::DataOptions().sentence) {
      setup.data_section.report("sentence_boundary",
                                "has no effect here: model.document divides lines into sentences "
                                "by their punctuation");
    }
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    const auto settings = language_settings(inputs);
    const auto limits = *batching::sentence_limits(inputs.model, inputs.length());
    return datasets_by(inputs, [&](const auto& items, const auto& options, bool /*is_training*/) {
      const auto sources = data::open_language_sources(items, data::divided_into_sentences(options),
                                                       *inputs.tokenizer, inputs.progress);
      auto made = std::make_shared<data::MaskedSentenceDataset>(
          sources, options.truncation.value_or(data::Truncation::kSplit), settings, limits,
          options_, *inputs.tokenizer);
      data::require_not_empty(*made, sources);
      return made;
    });
  }

  data::MaskedSentenceOptions options_;
};

}  // namespace

std::unique_ptr<Objective> make_masked_sentence(const data::MaskedSentenceOptions& options) {
  return std::make_unique<MaskedSentenceObjective>(options);
}

std::unique_ptr<Objective> read_masked_sentence(config::Section& section) {
  data::MaskedSentenceOptions options;
  section.read("mask_sentence_fraction", options.fraction,
               {.help = "Masking probability: fraction of the sentences of a document that are "
                        "selected for prediction; at least one, never all.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("mask_sentence_prob", options.mask_sentence_prob,
               {.help = "Fraction of the selected sentences whose tokens are replaced by the mask "
                        "token.",
                .range = kSentenceShare});
  section.read("random_sentence_prob", options.random_sentence_prob,
               {.help = "Fraction of the selected sentences that are replaced by random sentences "
                        "of other texts; the rest are left unchanged.",
                .range = kSentenceShare});
  check_replacement_probs(section, {"mask_sentence_prob", options.mask_sentence_prob},
                          {"random_sentence_prob", options.random_sentence_prob});
  return make_masked_sentence(options);
}

}  // namespace weft::objectives
