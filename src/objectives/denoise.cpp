#include "data/datasets/corruption.h"
#include "objectives/conditional_lm.h"
#include "objectives/data/text_datasets.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

constexpr config::Range kNoiseShare = {.min = 0, .max = 1};
constexpr config::Range kFraction = {.min = 0, .max = 1, .is_max_exclusive = true};

class DenoiseObjective : public ConditionalLmObjective {
 public:
  explicit DenoiseObjective(const data::DenoisingOptions& options)
      : ConditionalLmObjective(/*target_fraction=*/0.5), options_(options) {}

  std::string_view name() const override { return "denoise"; }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true};
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return corrupted_datasets(inputs, [&](int64_t start_id) {
      return data::make_denoising(*inputs.tokenizer, options_, start_id);
    });
  }

  data::DenoisingOptions options_;
};

}  // namespace

std::unique_ptr<Objective> make_denoise(const data::DenoisingOptions& options) {
  return std::make_unique<DenoiseObjective>(options);
}

std::unique_ptr<Objective> read_denoise(config::Section& section) {
  data::DenoisingOptions options;
  section.read(
      "permute_sentences", options.permute_sentences,
      {.help = "Probability that the sentences of a text are shuffled.", .range = kNoiseShare});
  section.read(
      "rotate", options.rotate,
      {.help = "Probability that a text is rotated to start at a random token (document rotation).",
       .range = kNoiseShare});
  section.read(
      "infill_fraction", options.infilling_fraction,
      {.help =
           "Text infilling: fraction of the tokens that are replaced by mask tokens, one per span.",
       .range = kFraction});
  section.read(
      "poisson_lambda", options.infilling_span_mean,
      {.help =
           "Text infilling: mean span length (Poisson). A span of length 0 inserts a mask token.",
       .unit = "tokens",
       .range = {.min = 0.5, .max = 100}});
  section.read(
      "delete_fraction", options.delete_fraction,
      {.help = "Token deletion: fraction of the tokens that are deleted.", .range = kFraction});
  section.read(
      "token_mask_fraction", options.mask_fraction,
      {.help = "Token masking: fraction of the tokens that are replaced by a mask token each.",
       .range = kFraction});
  return make_denoise(options);
}

}  // namespace weft::objectives
