#include <tuple>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/to_device.h"
#include "metrics/metrics.h"
#include "models/config/family_definition.h"
#include "objectives/data/datasets.h"
#include "objectives/evaluation/record_evaluation.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

/// Rows of `patches` that are masked; special tokens have no row there.
std::vector<int64_t> hidden_patches(const data::Batch& batch) {
  std::vector<int64_t> rows;
  int64_t patch = 0;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (batch.ids[i] < 0) {
      continue;
    }
    if (batch.token_type_ids[i] != 0) {
      rows.push_back(patch);
    }
    ++patch;
  }
  return rows;
}

/// Absolute error of each value of the masked patches: (M, C p p).
at::Tensor differences(models::Model& model,
                       const data::Batch& batch,
                       const nn::ForwardContext& context) {
  const auto device = context.layout.positions.device();
  const auto input = batching::input_to_device(batch, device);
  const auto states =
      model.selected_hidden_states(input, context, batching::target_rows(batch, context));
  const auto predictions = model.token_features(states).to(at::kFloat);
  const auto target =
      input.patches.index_select(0, kernels::to_device(hidden_patches(batch), device));
  return (predictions - target).abs();
}

struct PixelRecord {
  int64_t item = 0;
  double error = 0;  // sum over the values of its masked patches
  int64_t values = 0;

  static constexpr auto kFields = std::tuple(&PixelRecord::error, &PixelRecord::values);
};

/// Mean over all values of all masked patches.
class PixelEvaluation : public RecordEvaluation<PixelRecord> {
 public:
  PixelEvaluation() : RecordEvaluation("masked_image") {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    const auto rows = differences(model, batch, context).to(at::kDouble).sum(1).cpu();  // (M)
    const auto* sums = rows.const_data_ptr<double>();
    auto records = make_records(batch);
    visit_targets(batch, [&](std::size_t sequence, std::size_t row) {
      records[sequence].error += sums[row];
      records[sequence].values += batch.patch_width;
    });
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    const auto sum = records().sum();
    return {{"eval_loss", metrics::safe_divide(sum.error, static_cast<double>(sum.values))}};
  }
};

class MaskedImageObjective : public Objective {
 public:
  explicit MaskedImageObjective(const data::MaskedImageOptions& mask) : mask_(mask) {}

  std::string_view name() const override { return "masked_image"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kMaskedImage;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    if (!models::reads_images(model)) {
      return cannot_train(name(), model, "has no image input");
    }
    return std::nullopt;
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_rows = true};
  }
  data::SplitRows split_rows(const data::DataItem& item,
                             const data::DataOptions& /*data*/,
                             const models::ModelOptions& /*model*/) const override {
    return data::image_split_rows(item, false);
  }
  std::vector<std::string> terms() const override { return {"masked_image"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.target_rows.size()) * batch.patch_width};
  }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {differences(model, batch, context).sum()};
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<PixelEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    const auto patches = std::find_if(example.ids.begin(), example.ids.end(),
                                      [](int64_t id) { return id >= 0; });  // after special tokens
    add_sample_targets(example, mask_.fraction, 1, patches - example.ids.begin());
    example.token_type_ids.assign(example.ids.size(), 0);
    for (const auto position : example.target_positions) {
      example.token_type_ids[static_cast<std::size_t>(position)] = 1;
    }
    return example;
  }
  void check_training(const TrainingSetup& setup) const override {
    if (setup.data.augment.mixes()) {
      setup.data_section.report(
          "augment", "mixup and cutmix need classes, but objective.type is masked_image");
    }
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return image_datasets(inputs, mask_);
  }

  data::MaskedImageOptions mask_;
};

}  // namespace

std::unique_ptr<Objective> make_masked_image(const data::MaskedImageOptions& mask) {
  return std::make_unique<MaskedImageObjective>(mask);
}

std::unique_ptr<Objective> read_masked_image(config::Section& section) {
  data::MaskedImageOptions mask;
  section.read(
      "mask_ratio", mask.fraction,
      {.help = "Masking ratio: fraction of the image patches that are masked and predicted.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("mask_block_size", mask.unit,
               {.help = "Side length of the masked squares, in patches.",
                .unit = "patches",
                .range = config::between(1, 64)});
  return make_masked_image(mask);
}

}  // namespace weft::objectives
