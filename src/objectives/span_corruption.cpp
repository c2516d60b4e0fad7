#include "data/datasets/corruption.h"
#include "objectives/conditional_lm.h"
#include "objectives/data/text_datasets.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

class SpanCorruptionObjective : public ConditionalLmObjective {
 public:
  explicit SpanCorruptionObjective(const data::SpanCorruptionOptions& options)
      : ConditionalLmObjective(options.fraction), options_(options) {}

  std::string_view name() const override { return "span_corruption"; }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true};
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return corrupted_datasets(inputs, [&](int64_t start_id) {
      return data::make_span_corruption(*inputs.tokenizer, options_, start_id, inputs.length());
    });
  }

  data::SpanCorruptionOptions options_;
};

}  // namespace

std::unique_ptr<Objective> make_span_corruption(const data::SpanCorruptionOptions& options) {
  return std::make_unique<SpanCorruptionObjective>(options);
}

std::unique_ptr<Objective> read_span_corruption(config::Section& section) {
  data::SpanCorruptionOptions options;
  section.read("noise_density", options.fraction,
               {.help = "Corruption rate: fraction of the tokens of a text that are replaced by "
                        "sentinel tokens.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true}});
  section.read("mean_noise_span_length", options.span_mean,
               {.help = "Mean length of the corrupted spans in tokens.",
                .unit = "tokens",
                .range = config::between(1, 1000)});
  return make_span_corruption(options);
}

}  // namespace weft::objectives
