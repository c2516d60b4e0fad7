#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "report/examples.h"
#include "report/figures/attention_figure.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kImages = 24;       // of a grid
constexpr int64_t kAugmented = 4;     // images
constexpr int64_t kAugmentations = 5;  // of each

std::string class_name(const LoadedRun& run, int64_t label) {
  const auto at = static_cast<std::size_t>(label);
  return label >= 0 && at < run.labels.size() ? run.labels[at] : str_cat("class ", label);
}

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
    images.push_back(
        {.url = data_url(image_of(done.dataset->example(0, result.item), run)),
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
      images.push_back({.url = data_url(image_of(example, run)),
                        .caption = str_cat(example.label >= 0
                                               ? class_name(run, example.label) + ", "
                                               : std::string(),
                                           "epoch ", epoch)});
    }
  }
  if (!images.empty()) {
    page.add(ImageGrid("Training images as the model sees them", std::move(images)));
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
  if (run.train) {
    add_augmentations(run, page);
  }
}

}  // namespace weft::report
