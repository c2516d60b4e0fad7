#include "objectives/masked_image.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "objectives/data/image_datasets.h"

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

/// Mean over all values of all masked patches.
class PixelEvaluation : public Evaluation {
 public:
  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    const auto rows = differences(model, batch, context).to(at::kDouble).sum(1).cpu();  // (M)
    const auto* sums = rows.const_data_ptr<double>();
    std::size_t row = 0;
    for (std::size_t b = 0; b < batch.items.size(); ++b) {
      double sum = 0;
      int64_t count = 0;
      for (; row < batch.target_rows.size() && batch.target_rows[row] < batch.offsets[b + 1];
           ++row, ++count) {
        sum += sums[row];
      }
      items_[batch.items[b]] = {sum, count * batch.patch_width};
    }
  }

  std::map<std::string, double> result() const override {
    double sum = 0;
    int64_t count = 0;
    for (const auto& [item, metrics] : items_) {  // in item order: independent of batching
      sum += metrics.first;
      count += metrics.second;
    }
    return {{"eval_loss", sum / static_cast<double>(std::max<int64_t>(1, count))}};
  }

 private:
  std::map<int64_t, std::pair<double, int64_t>> items_;
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
    return {.states_read = StatesRead::kTargets};
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
  void check_training(const TrainingSetup& setup) const override {
    if (setup.data.augment.mixes()) {
      setup.data_section.fail("augment",
                              "mixup and cutmix are for classes, objective.type is masked_image");
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
  section.read("mask_ratio", mask.fraction,
               {.help = "Share of an image's patches that are hidden and to be guessed.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("mask_block_size", mask.unit,
               {.help = "Patches are hidden together in squares of so many a side.",
                .unit = "patches",
                .range = config::between(1, 64)});
  return make_masked_image(mask);
}

}  // namespace weft::objectives
