#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "models/bag_of_words.h"
#include "train/step/run_components.h"

namespace weft::train {

void fit_document_frequencies(models::Model& model, const data::Dataset& texts) {
  const auto parameters = model.named_parameters();
  if (!parameters.contains("idf")) {
    return;  // its weights do not depend on document frequencies
  }
  const at::NoGradGuard no_grad;
  auto idf = parameters["idf"];
  std::vector<double> counts(static_cast<std::size_t>(idf.size(0)), 0.0);
  const int64_t count = texts.size(0);
  for (int64_t item = 0; item < count; ++item) {
    const auto ids = texts.example(0, item).ids;
    auto rows =
        models::bag_features(ids, {0, static_cast<int64_t>(ids.size())}, model.options()).rows;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const auto row : rows) {
      if (row != models::BagFeatures::kNone) {
        ++counts[static_cast<std::size_t>(row)];
      }
    }
  }
  auto values = at::empty({idf.size(0)}, at::kFloat);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    values.data_ptr<float>()[row] =
        static_cast<float>(1 + std::log((1 + static_cast<double>(count)) / (1 + counts[row])));
  }
  idf.copy_(values);
}

}  // namespace weft::train
