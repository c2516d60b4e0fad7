#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>

#include "base/string_util.h"
#include "cli/data/data.h"
#include "formats/image.h"

namespace weft::cli {

namespace {

constexpr std::string_view kShades = " .:-=+*#%@";
constexpr int64_t kWidest = 64;

/// Channel means, assembled from the patches: (H, W).
struct Canvas {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<float> values;  // NaN in hidden patches
};

Canvas canvas_of(const data::Example& example, int64_t patch) {
  const int64_t last = example.ids.empty() ? -1 : example.ids.back();
  Canvas canvas;
  canvas.height = (formats::patch_row(last) + 1) * patch;
  canvas.width = (formats::patch_column(last) + 1) * patch;
  canvas.values.resize(static_cast<std::size_t>(canvas.height * canvas.width));
  const int64_t area = patch * patch;
  const int64_t channels = example.patch_width / area;
  const float* row = example.patches.data();
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const int64_t id = example.ids[i];
    if (id < 0) {
      continue;
    }
    const bool is_hidden = !example.token_type_ids.empty() && example.token_type_ids[i] != 0;
    for (int64_t pixel = 0; pixel < area; ++pixel) {
      float sum = 0;
      for (int64_t c = 0; c < channels; ++c) {
        sum += row[c * area + pixel];
      }
      const int64_t y = formats::patch_row(id) * patch + pixel / patch;
      const int64_t x = formats::patch_column(id) * patch + pixel % patch;
      canvas.values[static_cast<std::size_t>(y * canvas.width + x)] =
          is_hidden ? std::numeric_limits<float>::quiet_NaN() : sum / static_cast<float>(channels);
    }
    row += example.patch_width;
  }
  return canvas;
}

struct Moments {
  double sum = 0;
  double squares = 0;
  int64_t count = 0;

  double mean() const { return sum / static_cast<double>(std::max<int64_t>(1, count)); }
  double std_dev() const {
    const double square = squares / static_cast<double>(std::max<int64_t>(1, count));
    return std::sqrt(std::max(0.0, square - mean() * mean()));
  }
};

std::string numbers(const std::vector<Moments>& channels, double (Moments::*of)() const) {
  std::vector<std::string> words;
  for (const auto& channel : channels) {
    words.push_back(str_cat(std::fixed, std::setprecision(4), (channel.*of)()));
  }
  return join(words);
}

}  // namespace

std::string show_image(const data::Example& example, int64_t patch) {
  const auto canvas = canvas_of(example, patch);
  if (canvas.values.empty()) {
    return "";
  }
  float low = std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::lowest();
  for (const float value : canvas.values) {
    if (!std::isnan(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const int64_t step = std::max<int64_t>(1, (canvas.width + kWidest - 1) / kWidest);
  std::string lines;
  for (int64_t y = 0; y < canvas.height; y += 2 * step) {  // characters are twice as high as wide
    for (int64_t x = 0; x < canvas.width; x += step) {
      const float value = canvas.values[static_cast<std::size_t>(y * canvas.width + x)];
      const auto darkest = static_cast<float>(kShades.size() - 1);
      const float share = high > low ? (value - low) / (high - low) : 0;
      lines +=
          std::isnan(value)
              ? std::string("·")
              : std::string(1, kShades[static_cast<std::size_t>(std::lround(share * darkest))]);
    }
    lines += "\n";
  }
  return lines;
}

std::string show_images(const data::Dataset& dataset,
                        const std::vector<std::string>& labels,
                        int64_t patch,
                        int64_t count) {
  std::map<int64_t, int64_t> lengths;
  std::vector<int64_t> counts(labels.size());
  std::vector<Moments> channels;
  const int64_t images = std::min(count, dataset.size(0));
  for (int64_t item = 0; item < images; ++item) {
    const auto example = dataset.example(0, item);
    ++lengths[static_cast<int64_t>(example.ids.size())];
    if (example.label >= 0 && example.label < static_cast<int64_t>(counts.size())) {
      ++counts[static_cast<std::size_t>(example.label)];
    }
    const int64_t area = patch * patch;
    channels.resize(static_cast<std::size_t>(example.patch_width / area));
    for (std::size_t i = 0; i < example.patches.size(); ++i) {
      auto& channel = channels[i % static_cast<std::size_t>(example.patch_width) /
                               static_cast<std::size_t>(area)];
      const double value = example.patches[i];
      channel.sum += value;
      channel.squares += value * value;
      ++channel.count;
    }
  }
  std::ostringstream out;
  out << "  " << with_commas(images) << " of " << with_commas(dataset.size(0)) << " images, "
      << lengths.begin()->first;
  if (lengths.size() > 1) {
    out << " to " << lengths.rbegin()->first;
  }
  out << " tokens each\n  pixels as the model sees them: mean " << numbers(channels, &Moments::mean)
      << "; std " << numbers(channels, &Moments::std_dev) << "\n";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out << "  " << labels[i] << ": " << with_commas(counts[i]) << "\n";
  }
  return out.str();
}

std::string show_classes(const data::Example& example, const std::vector<std::string>& labels) {
  const auto name = [&](std::size_t index) {
    return index < labels.size() ? labels[index] : str_cat(index);
  };
  if (example.values.empty()) {
    return example.label < 0 ? "" : ", label " + name(static_cast<std::size_t>(example.label));
  }
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < example.values.size(); ++i) {
    if (example.values[i] > 0) {
      shares.push_back(str_cat(std::fixed, std::setprecision(2), example.values[i], " ", name(i)));
    }
  }
  return ", labels " + join(shares);
}

}  // namespace weft::cli
