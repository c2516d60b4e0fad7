#include "report/examples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "data/images/image_format.h"

namespace weft::report {

namespace {

constexpr int64_t kScannedItems = 5000;
constexpr int64_t kFewestTokens = 3;
constexpr uint8_t kHidden = 128;  // of hidden patches

/// Mean and standard deviation of each channel, by which the model's pixels were normalised.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std_dev;
};

Normalization normalization_of(const LoadedRun& run, int64_t channels) {
  const auto format = data::read_preprocessor_config(run.directory, channels);
  const auto size = static_cast<std::size_t>(channels);
  return {.mean = format ? format->image_mean : std::vector<double>(size, 0),
          .std_dev = format ? format->image_std : std::vector<double>(size, 1)};
}

uint8_t byte_of(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(255 * value), 0L, 255L));
}

}  // namespace

std::vector<int64_t> short_items(const data::Dataset& dataset, int64_t count, int64_t longest) {
  std::vector<int64_t> items;
  int64_t shortest = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t item = 0; item < std::min(dataset.size(0), kScannedItems); ++item) {
    const auto length = dataset.length(0, item);
    if (length >= kFewestTokens && length <= longest) {
      items.push_back(item);
    }
    if (static_cast<int64_t>(items.size()) == count) {
      return items;
    }
    if (length >= kFewestTokens && length < least) {
      shortest = item;
      least = length;
    }
  }
  if (items.empty() && dataset.size(0) > 0) {
    items.push_back(shortest);
  }
  return items;
}

data::Batch batch_of(const data::Dataset& dataset, int64_t item) {
  data::Batch batch;
  batch.add(item, dataset.example(0, item));
  return batch;
}

std::vector<std::string> pieces_of(const data::Tokenizer& tokenizer,
                                   const std::vector<int64_t>& ids) {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const auto id : ids) {
    pieces.push_back(tokenizer.piece(static_cast<int32_t>(id)));
  }
  return pieces;
}

std::string text_of(const data::Tokenizer& tokenizer,
                    const std::vector<int64_t>& ids,
                    std::size_t most) {
  auto text = utf8::decode(tokenizer.decode({ids.begin(), ids.end()}));
  if (text.size() > most) {
    text = text.substr(0, most - 1) + U"…";
  }
  return utf8::encode(text);
}

at::Tensor hidden_states_of(const LoadedRun& run,
                            const data::Batch& batch,
                            nn::AttentionRecorder* recorder) {
  const at::NoGradGuard guard;
  auto context = batching::context_of(batch, run.model->device());
  context.attention_recorder = recorder;
  return batching::hidden_states(*run.model, batch, context);
}

formats::Image image_of(const data::Example& example, const LoadedRun& run) {
  const int64_t patch = run.model->options().vision.patch_size;
  const int64_t area = patch * patch;
  const int64_t channels = example.patch_width / area;
  const auto [mean, std_dev] = normalization_of(run, channels);
  int64_t rows = 0;
  int64_t columns = 0;
  for (const auto id : example.ids) {
    rows = std::max(rows, id < 0 ? 0 : formats::patch_row(id) + 1);
    columns = std::max(columns, id < 0 ? 0 : formats::patch_column(id) + 1);
  }
  formats::Image image{.height = rows * patch,
                       .width = columns * patch,
                       .channels = channels,
                       .pixels = std::vector<uint8_t>(
                           static_cast<std::size_t>(rows * columns * example.patch_width))};
  const float* values = example.patches.data();
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const auto id = example.ids[i];
    if (id < 0) {
      continue;
    }
    const bool is_hidden = !example.token_type_ids.empty() && example.token_type_ids[i] != 0;
    for (int64_t at = 0; at < example.patch_width; ++at) {
      const auto channel = static_cast<std::size_t>(at / area);
      const int64_t y = formats::patch_row(id) * patch + at % area / patch;
      const int64_t x = formats::patch_column(id) * patch + at % patch;
      const auto place = (y * image.width + x) * channels + static_cast<int64_t>(channel);
      image.pixels[static_cast<std::size_t>(place)] =
          is_hidden ? kHidden : byte_of(values[at] * std_dev[channel] + mean[channel]);
    }
    values += example.patch_width;
  }
  return image;
}

std::string data_url(const formats::Image& image) {
  return "data:image/png;base64," + to_base64(formats::encode_png(image));
}

at::Tensor principal_components(const at::Tensor& x) {
  const auto rows = x.to(at::kCPU, at::kDouble);
  const auto centered = rows - rows.mean(0, true);
  const auto decomposition = at::linalg_svd(centered, false);
  const auto& left = std::get<0>(decomposition);
  const auto kept = std::min<int64_t>(2, left.size(1));
  auto components = left.narrow(1, 0, kept) * std::get<1>(decomposition).narrow(0, 0, kept);
  const auto largest = components.gather(0, components.abs().argmax(0, true));  // (1, 2)
  components = components * at::where(largest < 0, -1.0, 1.0);
  return kept == 2 ? components : at::cat({components, at::zeros_like(components)}, 1);
}

}  // namespace weft::report
