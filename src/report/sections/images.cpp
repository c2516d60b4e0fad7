#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "report/examples.h"
#include "report/figures/attention_figure.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kImages = 24;        // of a grid
constexpr int64_t kAugmented = 4;      // images
constexpr int64_t kAugmentations = 5;  // of each

/// The images with the largest loss, which are errors first.
void add_predictions(const LoadedRun& run, Page& page) {
  const auto& done = *run.evaluation;
  const auto hardest = done.evaluation->hardest_examples(kImages);
  std::vector<ImageGrid::Image> images;
  for (const auto& result : hardest.value_or(std::vector<objectives::ExampleResult>())) {
    const auto& fields = result.fields;
    if (!fields.contains("label") || !fields["label"].is_string()) {
      return;
    }
    images.push_back({.url = data_url(image_of(done.dataset->example(0, result.item), run)),
                      .caption = str_cat(fields["label"].get<std::string>(), ", predicted ",
                                         fields["prediction"].get<std::string>(), " (",
                                         number_text(fields["score"].get<double>(), 3), ")"),
                      .is_wrong = fields["label"] != fields["prediction"]});
  }
  if (!images.empty()) {
    page.add(ImageGrid("Images with the largest loss: label, prediction and its probability",
                       std::move(images)));
  }
}

/// The same images in several epochs, as training sees them.
void add_augmentations(const LoadedRun& run, Page& page) {
  std::vector<ImageGrid::Image> images;
  for (int64_t item = 0; item < std::min(kAugmented, run.train->size(0)); ++item) {
    for (int64_t epoch = 0; epoch < kAugmentations; ++epoch) {
      const auto example = run.train->example(epoch, item);
      images.push_back(
          {.url = data_url(image_of(example, run)),
           .caption =
               str_cat(example.label >= 0 ? label_name(run, example.label) + ", " : std::string(),
                       "epoch ", epoch)});
    }
  }
  if (!images.empty()) {
    page.add(ImageGrid("Training images as the model sees them", std::move(images)));
  }
}

/// The example with its hidden patches as the model predicts them.
data::Example reconstructed(const LoadedRun& run, const data::Dataset& dataset, int64_t item) {
  const at::NoGradGuard guard;
  auto example = dataset.example(0, item);
  const auto batch = batch_of(example);
  const auto context = batching::context_of(batch, run.model->device());
  const auto predicted =
      run.model->token_features(batching::target_states(*run.model, batch, context).states)
          .to(at::kCPU, at::kFloat)
          .contiguous();  // (M, C p p)
  const auto* from = predicted.const_data_ptr<float>();
  auto patch = example.patches.begin();  // of the token; special tokens have none
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    if (example.ids[i] < 0) {
      continue;
    }
    if (example.token_type_ids[i] != 0) {
      std::copy_n(from, example.patch_width, patch);
      from += example.patch_width;
    }
    patch += example.patch_width;
  }
  return example;
}

/// Masked images, what the model predicts for the masked patches, and the originals.
void add_reconstructions(const ReportInput& input, const LoadedRun& run, Page& page) {
  const auto& dataset = *input.dataset();
  std::vector<ImageGrid::Image> images;
  for (int64_t item = 0; item < std::min(dataset.size(0), input.options.examples); ++item) {
    const auto example = dataset.example(0, item);
    images.push_back({.url = data_url(image_of(example, run)), .caption = "masked"});
    images.push_back({.url = data_url(image_of(reconstructed(run, dataset, item), run, true)),
                      .caption = "reconstruction"});
    images.push_back({.url = data_url(image_of(example, run, true)), .caption = "original"});
  }
  if (!images.empty()) {
    page.add(ImageGrid("Reconstructions of masked images", std::move(images)));
  }
}

}  // namespace

void add_images(const ReportInput& input, Page& page) {
  if (!input.loaded || !models::reads_images(input.loaded->model->options())) {
    return;
  }
  const auto& run = *input.loaded;
  if (run.evaluation) {
    add_predictions(run, page);
  }
  if (models::head_of(run.model->options()).predicts_pixels && input.dataset() != nullptr) {
    add_reconstructions(input, run, page);
  }
  if (run.train) {
    add_augmentations(run, page);
  }
}

}  // namespace weft::report
