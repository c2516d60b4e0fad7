#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "report/examples.h"
#include "report/figures/attention_figure.h"
#include "report/figures/charts.h"
#include "report/recorded_attention.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kLongestAttended = 40;   // tokens of an example
constexpr int64_t kMostWeights = 200'000;  // of all examples that the page stores
constexpr int64_t kMostImageWeights = 60'000;

using Layers = std::map<int64_t, at::Tensor>;  // (H, L, S) fp32 on the host

/// Attention of the same kind over several examples: of an encoder, of a decoder, or of a decoder
/// to its encoder.
struct AttentionExamples {
  std::vector<AttentionFigure::Example> examples;
  int64_t weights = 0;

  /// Does nothing if the page would have too many weights.
  void add(const std::string& title,
           const std::vector<std::string>& rows,
           const std::vector<std::string>& columns,
           const Layers& layers) {
    int64_t count = 0;
    for (const auto& [layer, heads] : layers) {
      count += heads.numel();
    }
    if (layers.empty() || (!examples.empty() && weights + count > kMostWeights)) {
      return;
    }
    weights += count;
    AttentionFigure::Example example{
        .title = title, .rows = rows, .columns = columns, .layers = {}};
    int64_t index = 0;
    for (const auto& [layer, heads] : layers) {
      auto& shown = example.layers.emplace_back(
          AttentionFigure::Layer{.name = str_cat("layer ", index++), .heads = {}});
      for (const auto& head : heads.unbind(0)) {
        shown.heads.push_back(rows_of(head));
      }
    }
    examples.push_back(std::move(example));
  }
};

/// A matrix of layers and heads: the mean of a statistic of the rows of their weights.
void add_head_statistics(const std::vector<AttentionFigure::Example>& examples,
                         const std::string& title,
                         const std::function<double(const std::vector<double>&, std::size_t)>& of,
                         Page& page) {
  std::vector<std::vector<double>> values;
  std::vector<std::string> layers;
  std::vector<std::string> heads;
  for (std::size_t layer = 0; layer < examples.front().layers.size(); ++layer) {
    layers.push_back(std::to_string(layer));
    values.emplace_back();
    for (std::size_t head = 0; head < examples.front().layers[layer].heads.size(); ++head) {
      double sum = 0;
      double count = 0;
      for (const auto& example : examples) {
        const auto& matrix = example.layers[layer].heads[head];
        for (std::size_t row = 0; row < matrix.size(); ++row) {
          sum += of(matrix[row], row);
          count += 1;
        }
      }
      values.back().push_back(sum / std::max(count, 1.0));
    }
  }
  for (std::size_t head = 0; head < values.front().size(); ++head) {
    heads.push_back(std::to_string(head));
  }
  page.add(Heatmap(
      title,
      {.row_label = "layer", .column_label = "head", .shows_values = true, .starts_at_least = true},
      std::move(layers), std::move(heads), std::move(values)));
}

void add_statistics(const std::vector<AttentionFigure::Example>& examples, Page& page) {
  add_head_statistics(
      examples, "Entropy of each head (nats)",
      [](const std::vector<double>& row, std::size_t) {
        double entropy = 0;
        for (const double weight : row) {
          entropy -= weight > 0 ? weight * std::log(weight) : 0;
        }
        return entropy;
      },
      page);
  add_head_statistics(
      examples, "Mean distance of each head (tokens)",
      [](const std::vector<double>& row, std::size_t query) {
        double distance = 0;
        for (std::size_t key = 0; key < row.size(); ++key) {
          distance += row[key] * std::abs(static_cast<double>(key) - static_cast<double>(query));
        }
        return distance;
      },
      page);
}

void add_text_attention(const ReportInput& input, const LoadedRun& run, Page& page) {
  AttentionExamples encoder;
  AttentionExamples decoder;
  AttentionExamples cross;
  const bool has_self_attention = models::find_module(*run.model, "layers.0.attention") != nullptr;
  for (const auto& example :
       short_examples(*input.dataset(), input.options.examples, kLongestAttended)) {
    const auto batch = batch_of(example);
    const auto [layers, to_encoder] = recorded_attention(run, batch);
    const auto tokens = shown_tokens(run.tokenizer->target(), batch.ids);
    const auto title = text_of(batch.source_ids.empty() ? run.tokenizer->target() : *run.tokenizer,
                               batch.source_ids.empty() ? batch.ids : batch.source_ids);
    if (batch.source_ids.empty()) {
      encoder.add(title, tokens, tokens, layers);
      continue;
    }
    const auto source = shown_tokens(*run.tokenizer, batch.source_ids);
    // A decoder's layers are numbered after those of its encoder.
    const auto first = layers.lower_bound(run.model->options().layers);
    encoder.add(title, source, source, Layers(layers.begin(), first));
    decoder.add(title, tokens, tokens, Layers(first, layers.end()));
    cross.add(title, tokens, source, to_encoder);
  }
  const bool has_decoder = !decoder.examples.empty();
  if (!encoder.examples.empty()) {
    page.add(AttentionFigure(has_decoder ? "Self-attention of the encoder" : "Self-attention",
                             "query", "key", encoder.examples));
  }
  if (has_decoder) {
    page.add(AttentionFigure("Self-attention of the decoder", "query", "key", decoder.examples));
  }
  if (!cross.examples.empty()) {
    page.add(AttentionFigure(has_self_attention ? "Cross-attention" : "Alignment", "target",
                             "source", cross.examples));
  }
  if (!encoder.examples.empty()) {
    add_statistics(encoder.examples, page);
  }
}

/// The weights of the patches among those of a row.
std::vector<double> patch_weights(const at::Tensor& row, const std::vector<int64_t>& ids) {
  const auto values = values_of(row);
  std::vector<double> weights;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0) {
      weights.push_back(values[i]);
    }
  }
  return weights;
}

/// What the class token attends to; without one, the mean over all patches.
at::Tensor summary_row(const at::Tensor& weights, const std::vector<int64_t>& ids) {
  return ids.front() == formats::kClassToken ? weights[0] : weights.mean(0);
}

void add_image_attention(const ReportInput& input, const LoadedRun& run, Page& page) {
  std::vector<ImageAttentionFigure::Example> examples;
  int64_t stored = 0;
  const auto& dataset = *input.dataset();
  for (int64_t item = 0; item < std::min(dataset.size(0), input.options.examples); ++item) {
    const auto example = dataset.example(0, item);
    const auto batch = batch_of(example);
    const auto layers = recorded_attention(run, batch).layers;
    if (layers.empty() || stored > kMostImageWeights) {
      break;
    }
    const auto image = image_of(example, run);
    const auto patch = run.model->options().vision.patch_size;
    const auto label = static_cast<std::size_t>(std::max<int64_t>(example.label, 0));
    auto& shown = examples.emplace_back(ImageAttentionFigure::Example{
        .title = str_cat(
            "image ", item,
            example.label >= 0 && label < run.labels.size() ? ", " + run.labels[label] : ""),
        .image = data_url(image),
        .rows = image.height / patch,
        .columns = image.width / patch,
        .maps = {}});
    shown.maps.push_back(
        {.name = "attention rollout",
         .values = patch_weights(summary_row(attention_rollout(layers), batch.ids), batch.ids)});
    int64_t index = 0;
    for (const auto& [layer, weights] : layers) {
      shown.maps.push_back(
          {.name = str_cat("layer ", index, ", mean over heads"),
           .values = patch_weights(summary_row(weights.mean(0), batch.ids), batch.ids)});
      for (int64_t head = 0; head < weights.size(0); ++head) {
        shown.maps.push_back(
            {.name = str_cat("layer ", index, ", head ", head),
             .values = patch_weights(summary_row(weights[head], batch.ids), batch.ids)});
      }
      ++index;
    }
    stored += static_cast<int64_t>(shown.maps.size() * shown.maps.front().values.size());
  }
  if (!examples.empty()) {
    page.note(
        "What the class token attends to (without one: the mean over all patches), and "
        "attention rollout, the product of all layers.");
    page.add(ImageAttentionFigure("Attention to the patches", std::move(examples)));
  }
}

}  // namespace

void add_attention(const ReportInput& input, Page& page) {
  if (!input.loaded || input.dataset() == nullptr || input.dataset()->size(0) == 0) {
    return;
  }
  try {
    if (models::reads_images(input.loaded->model->options())) {
      add_image_attention(input, *input.loaded, page);
    } else {
      add_text_attention(input, *input.loaded, page);
    }
  } catch (const c10::Error& error) {
    page.note(str_cat("There are no attention weights to show: ", error.what_without_backtrace()));
  }
}

}  // namespace weft::report
