#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "kernels/attention/rotary.h"
#include "kernels/layout.h"
#include "models/config/family_definition.h"
#include "models/stack_parts.h"
#include "nn/embedding/patch_embeddings.h"
#include "nn/position/position.h"
#include "nn/position/position_types.h"
#include "report/examples.h"
#include "report/figures/charts.h"
#include "report/figures/line_chart.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kPositions = 60;  // of the sinusoidal figures
constexpr int64_t kFeatures = 32;
constexpr int64_t kFirstColumn = 6;  // of the curves
constexpr int64_t kLastColumn = 9;
constexpr int64_t kMostPositions = 48;  // of a similarity matrix
constexpr auto kSimilarities = "Cosine similarity of the learned positions";
constexpr int64_t kMostDistance = 64;  // of a bias

std::vector<double> range(double first, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(first + static_cast<double>(i));
  }
  return values;
}

/// The matrix of sinusoids and some of its columns, with sines and cosines alternating
/// (arXiv:1706.03762, section 3.5).
void add_sinusoids(Page& page) {
  const auto matrix = nn::sinusoids(kPositions, kFeatures, true);
  page.add(Heatmap("Sinusoidal positions",
                   {.row_label = "position", .column_label = "feature", .is_diverging = true}, {},
                   {}, rows_of(matrix)));
  std::vector<Series> curves;
  for (int64_t column = kFirstColumn; column <= kLastColumn; ++column) {
    curves.push_back(series_of(str_cat("feature ", column), range(0, kPositions),
                               values_of(matrix.select(1, column))));
  }
  page.add(LineChart("Features of the sinusoidal positions",
                     {.x = {{"x", "Position"}}, .y_label = "value"}, std::move(curves)));
}

/// Cosine similarities of evenly spaced rows of a table of learned positions.
void add_similarities(const at::Tensor& table, const std::string& title, Page& page) {
  const auto positions = table.to(at::kCPU, at::kDouble);
  const int64_t every = (positions.size(0) + kMostPositions - 1) / kMostPositions;
  const auto chosen = positions.slice(0, 0, positions.size(0), every);
  const auto unit = chosen / chosen.norm(2, 1, true).clamp_min(1e-12);
  std::vector<std::string> names;
  for (int64_t i = 0; i < chosen.size(0); ++i) {
    names.push_back(std::to_string(i * every));
  }
  page.add(Heatmap(title,
                   {.row_label = "position", .column_label = "position", .is_diverging = true},
                   names, names, rows_of(unit.matmul(unit.t()))));
}

void add_bias(const nn::PositionBias& bias, const std::string& title, Page& page) {
  const auto by_distance = bias.forward(kMostDistance, at::kCPU);  // (H, 2 L - 1)
  std::vector<Series> heads;
  for (int64_t head = 0; head < by_distance.size(0); ++head) {
    heads.push_back(series_of(str_cat("head ", head),
                              range(1 - kMostDistance, 2 * kMostDistance - 1),
                              values_of(by_distance[head])));
  }
  page.add(LineChart(title, {.x = {{"x", "Distance of key and query"}}, .y_label = "bias"},
                     std::move(heads)));
}

void add_wavelengths(const kernels::RotaryOptions& rotary, Page& page) {
  // The angle of position 1 is the frequency of each pair.
  const auto table = kernels::rotary_table(2, rotary, at::kCPU).to(at::kDouble);  // (2, width)
  std::vector<double> wavelengths;
  for (int64_t pair = 0; pair < rotary.width / 2; ++pair) {
    const double angle =
        std::atan2(table[1][rotary.width / 2 + pair].item<double>(), table[1][pair].item<double>());
    wavelengths.push_back(2 * M_PI / angle);
  }
  page.add(
      LineChart("Wavelengths of the rotary positions",
                {.x = {{"x", "Pair of features"}}, .y_label = "tokens", .y_is_log = true},
                {series_of("wavelength", range(0, rotary.width / 2), std::move(wavelengths))}));
}

/// The table of a module of positions, for sequences as long as the figures need.
at::Tensor table_of(nn::PositionEmbedding& embedding, int64_t length) {
  const auto layout =
      kernels::Layout::from_offsets({0, std::min(length, kMostPositions)}, at::kCPU);
  return embedding.rows(layout).table;
}

}  // namespace

void add_positions(const ReportInput& input, Page& page) {
  if (!input.loaded) {
    return;
  }
  const at::NoGradGuard guard;
  auto& model = *input.loaded->model;
  const auto& options = model.options();
  if (models::reads_images(options)) {
    for (const auto& named : model.named_modules()) {
      if (dynamic_cast<nn::PatchEmbeddingsImpl*>(named.value().get()) != nullptr) {
        const auto parameters = named.value()->named_parameters(/*recurse=*/false);
        // Class token first, then the patches.
        add_similarities(parameters["position"][0], kSimilarities, page);
      }
    }
    return;
  }
  if (options.family->positions == nullptr || options.heads == 0) {
    return;
  }
  bool has_sinusoids = false;
  for (const auto& named : model.named_modules()) {
    if (auto* const embedding = dynamic_cast<nn::PositionEmbedding*>(named.value().get())) {
      if (embedding->parameters().empty()) {
        has_sinusoids = true;
      } else {
        const bool is_of_sentences = named.key().starts_with("document.");
        add_similarities(
            table_of(*embedding, is_of_sentences ? options.document->sentences : options.length),
            str_cat(kSimilarities, is_of_sentences ? " of sentences" : ""), page);
      }
    }
    if (const auto* const bias = dynamic_cast<const nn::PositionBias*>(named.value().get())) {
      add_bias(*bias, "Bias of the attention scores, " + named.key(), page);
    }
  }
  if (has_sinusoids) {
    add_sinusoids(page);
  }
  const auto positions = models::make_positions(options, {.heads = options.heads});
  if (const auto rotary = nn::rotary_of(positions, false); rotary.theta > 0) {
    add_wavelengths(rotary, page);
  }
}

}  // namespace weft::report
