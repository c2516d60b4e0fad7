#include "report/figures/attention_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/string_util.h"
#include "report/figures/charts.h"
#include "report/figures/plot.h"
#include "report/markup.h"

namespace weft::report {

namespace {

using formats::Json;

WeightMatrix mean_of(const std::vector<WeightMatrix>& heads) {
  auto mean = heads.front();
  for (std::size_t row = 0; row < mean.size(); ++row) {
    for (std::size_t column = 0; column < mean[row].size(); ++column) {
      double sum = 0;
      for (const auto& head : heads) {
        sum += head[row][column];
      }
      mean[row][column] = sum / static_cast<double>(heads.size());
    }
  }
  return mean;
}

Json weights_json(const WeightMatrix& weights) {
  Json json = Json::array();
  for (const auto& row : weights) {
    Json list = Json::array();
    for (const double weight : row) {
      list.push_back(stored_weight(weight));
    }
    json.push_back(std::move(list));
  }
  return json;
}

}  // namespace

double stored_weight(double weight) { return std::round(weight * 1e5) / 1e5; }

AttentionFigure::AttentionFigure(std::string title,
                                 std::string row_label,
                                 std::string column_label,
                                 std::vector<Example> examples)
    : Figure(std::move(title)),
      row_label_(std::move(row_label)),
      column_label_(std::move(column_label)),
      examples_(std::move(examples)) {}

std::string AttentionFigure::markup() const {
  const auto& example = examples_.front();
  const auto& layer = example.layers.back();
  return Heatmap(str_cat(example.title, ", ", layer.name, ", mean over heads"),
                 {.row_label = row_label_, .column_label = column_label_}, example.rows,
                 example.columns, mean_of(layer.heads))
      .markup();
}

Json AttentionFigure::json(Json& /*axes*/) const {
  Json json = {{"type", kind()},
               {"title", title()},
               {"row_label", row_label_},
               {"column_label", column_label_},
               {"examples", Json::array()}};
  for (const auto& example : examples_) {
    Json layers = Json::array();
    for (const auto& layer : example.layers) {
      Json heads = Json::array();
      for (const auto& head : layer.heads) {
        heads.push_back(weights_json(head));
      }
      layers.push_back({{"name", layer.name}, {"heads", std::move(heads)}});
    }
    json["examples"].push_back({{"title", example.title},
                                {"rows", example.rows},
                                {"columns", example.columns},
                                {"layers", std::move(layers)}});
  }
  return json;
}

ImageAttentionFigure::ImageAttentionFigure(std::string title, std::vector<Example> examples)
    : Figure(std::move(title)), examples_(std::move(examples)) {}

std::string ImageAttentionFigure::markup() const {
  constexpr double kSide = 240;
  const auto& example = examples_.front();
  const auto& map = example.maps.front();
  const double cell = kSide / static_cast<double>(std::max(example.rows, example.columns));
  const double width = cell * static_cast<double>(example.columns);
  const double height = cell * static_cast<double>(example.rows);
  Svg svg(width, height, str_cat(example.title, ", ", map.name));
  svg.image(example.image, 0, 0, width, height);
  const double greatest = *std::ranges::max_element(map.values);
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / example.columns;
    const auto column = static_cast<int64_t>(i) % example.columns;
    const double share = greatest > 0 ? map.values[i] / greatest : 0;
    svg.rect({{"class", "cell overlay"},
              {"style", "--v:" + number_text(share, 3)},
              {"fill", "#ff5a00"},
              {"fill-opacity", number_text(0.8 * share, 3)}},
             cell * static_cast<double>(column), cell * static_cast<double>(row), cell, cell,
             number_text(stored_weight(map.values[i])));
  }
  return svg.markup();
}

Json ImageAttentionFigure::json(Json& /*axes*/) const {
  Json json = {{"type", kind()}, {"title", title()}, {"examples", Json::array()}};
  for (const auto& example : examples_) {
    Json maps = Json::array();
    for (const auto& map : example.maps) {
      Json values = Json::array();
      for (const double value : map.values) {
        values.push_back(stored_weight(value));
      }
      maps.push_back({{"name", map.name}, {"values", std::move(values)}});
    }
    json["examples"].push_back({{"title", example.title},
                                {"image", example.image},
                                {"rows", example.rows},
                                {"columns", example.columns},
                                {"maps", std::move(maps)}});
  }
  return json;
}

ImageGrid::ImageGrid(std::string title, std::vector<Image> images)
    : Figure(std::move(title)), images_(std::move(images)) {}

std::string ImageGrid::markup() const {
  std::string items;
  for (const auto& image : images_) {
    items += element("li", {{"class", image.is_wrong ? "wrong" : "right"}},
                     element("img", {{"src", image.url}, {"alt", image.caption}}) +
                         element("span", {}, escape(image.caption)));
  }
  return element("ul", {{"class", "image-grid"}}, items);
}

}  // namespace weft::report
