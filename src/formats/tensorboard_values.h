#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "formats/image.h"

/// Values of TensorBoard events, as messages for EventWriter::write.
namespace weft::formats::tensorboard {

std::string scalar(std::string_view tag, double value);

/// Numbers by bins: `counts[i]` are at most `limits[i]` and greater than the limit before.
struct Histogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};
std::string histogram(std::string_view tag, const Histogram& histogram);

/// Text in Markdown.
std::string text(std::string_view tag, std::string_view text);

std::string image(std::string_view tag, const Image& image);

/// Hyperparameters of a run and the tags of the metrics to compare runs by: the values that
/// TensorBoard's HParams tab reads, which all belong to step 0.
using HyperparameterValue = std::variant<double, bool, std::string>;
std::vector<std::string> hyperparameters(
    const std::vector<std::pair<std::string, HyperparameterValue>>& values,
    const std::vector<std::string>& metric_tags,
    double start_time);

}  // namespace weft::formats::tensorboard
