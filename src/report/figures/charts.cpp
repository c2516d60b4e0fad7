#include "report/figures/charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "report/figures/plot.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr double kStrong = 0.55;             // from here on the text of a cell is light
constexpr double kLetterWidth = 5.8;         // of a tick
constexpr std::size_t kMostHorizontal = 40;  // categories
constexpr std::size_t kShownLetters = 22;    // of a label

std::string name_at(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

double longest_label(const std::vector<std::string>& names) {
  std::size_t longest = 2;
  for (const auto& name : names) {
    longest = std::max(longest, utf8::decode(shortened(name, kShownLetters)).size());
  }
  return static_cast<double>(longest);
}

/// From 0, or the least value below it, to the greatest.
Range value_range(const std::vector<BarChart::Bars>& series) {
  Range range{.low = 0, .high = 0};
  for (const auto& bars : series) {
    for (const double value : bars.values) {
      range.low = std::min(range.low, std::isfinite(value) ? value : 0);
      range.high = std::max(range.high, std::isfinite(value) ? value : 0);
    }
  }
  range.high = range.high == range.low ? range.low + 1 : range.high;
  return range;
}

}  // namespace

BarChart::BarChart(std::string title,
                   std::string y_label,
                   std::vector<std::string> categories,
                   std::vector<Bars> series)
    : Figure(std::move(title)),
      y_label_(std::move(y_label)),
      categories_(std::move(categories)),
      series_(std::move(series)) {}

std::string BarChart::tip(std::size_t category, std::size_t series) const {
  return str_cat(categories_[category], series_.size() > 1 ? ", " + series_[series].name : "", ": ",
                 number_text(series_[series].values[category]));
}

bool BarChart::is_horizontal() const {
  constexpr double kWidth = 400;     // of all categories
  constexpr double kShortLabel = 9;  // letters; of such labels some may be left out
  const double longest = longest_label(categories_);
  return longest > kShortLabel && categories_.size() <= kMostHorizontal &&
         longest * kLetterWidth * static_cast<double>(categories_.size()) > kWidth;
}

std::string BarChart::horizontal_markup() const {
  constexpr double kBar = 12;
  constexpr double kGap = 8;
  constexpr double kTop = 20;
  const auto range = value_range(series_);
  const auto bars = static_cast<double>(std::max<std::size_t>(1, series_.size()));
  const double slot = kBar * bars + kGap;
  const double left = 12 + kLetterWidth * longest_label(categories_);
  const double height = kTop + slot * static_cast<double>(categories_.size()) + 24;
  const Scale x{.low = range.low, .high = range.high, .begin = left, .end = PlotFrame::kWidth - 40};
  Svg svg(PlotFrame::kWidth, height, title());
  svg.text("label", {.x = (x.begin + x.end) / 2, .y = 12, .anchor = "middle"}, y_label_);
  for (const double tick : ticks(x, 5)) {
    svg.line("grid", x(tick), kTop, x(tick), height - 20);
    svg.text("tick", {.x = x(tick), .y = height - 6, .anchor = "middle"}, tick_text(tick));
  }
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    const double top = kTop + slot * static_cast<double>(i) + kGap / 2;
    svg.text("tick", {.x = left - 5, .y = top + kBar * bars / 2 + 3.5, .anchor = "end"},
             shortened(categories_[i], kShownLetters));
    for (std::size_t s = 0; s < series_.size(); ++s) {
      const double value = series_[s].values[i];
      const double begin = x(std::min(value, 0.0));
      svg.rect({{"class", str_cat("bar c", s % kColors)}}, begin,
               top + kBar * static_cast<double>(s), x(std::max(value, 0.0)) - begin, kBar,
               tip(i, s));
    }
  }
  return svg.markup();
}

std::string BarChart::markup() const {
  if (is_horizontal()) {
    return horizontal_markup();
  }
  auto range = value_range(series_);
  if (series_.size() > 1) {  // room for the legend
    range.high += 0.08 * static_cast<double>(series_.size()) * (range.high - range.low);
  }
  const PlotFrame frame({}, range, false, false);
  Svg svg(PlotFrame::kWidth, PlotFrame::kHeight, title());
  frame.draw_y(svg, y_label_);
  const double slot =
      (frame.x.end - frame.x.begin) / std::max<double>(1, static_cast<double>(categories_.size()));
  const double width = 0.8 * slot / static_cast<double>(std::max<std::size_t>(1, series_.size()));
  const auto every = static_cast<std::size_t>(
      std::max(1.0, std::ceil(longest_label(categories_) * kLetterWidth / slot)));
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    const double left = frame.x.begin + slot * (static_cast<double>(i) + 0.1);
    for (std::size_t s = 0; s < series_.size(); ++s) {
      const double value = series_[s].values[i];
      const double top = frame.y(std::max(value, 0.0));
      svg.rect({{"class", str_cat("bar c", s % kColors)}}, left + width * static_cast<double>(s),
               top, width, frame.y(std::min(value, 0.0)) - top, tip(i, s));
    }
    if (i % every == 0) {
      svg.text("tick", {.x = left + 0.4 * slot, .y = frame.y.begin + 16, .anchor = "middle"},
               shortened(categories_[i], kShownLetters));
    }
  }
  for (std::size_t s = 0; series_.size() > 1 && s < series_.size(); ++s) {
    frame.draw_legend(svg, s, static_cast<int64_t>(s), series_[s].name);
  }
  return svg.markup();
}

Json BarChart::json(Json& /*axes*/) const {
  Json json = {{"type", kind()}, {"title", title()}, {"categories", categories_}};
  for (const auto& bars : series_) {
    json["series"].push_back({{"name", bars.name}, {"values", bars.values}});
  }
  return json;
}

Heatmap::Heatmap(std::string title,
                 Options options,
                 std::vector<std::string> rows,
                 std::vector<std::string> columns,
                 std::vector<std::vector<double>> values)
    : Figure(std::move(title)),
      options_(std::move(options)),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      values_(std::move(values)) {}

double Heatmap::strength(std::size_t row, std::size_t column, const Range& range) const {
  const auto& values = values_[row];
  const double least = options_.starts_at_least ? range.low : 0;
  const double whole = options_.scales_rows ? std::accumulate(values.begin(), values.end(), 0.0)
                                            : range.high - least;
  return whole > 0 && std::isfinite(values[column]) ? (values[column] - least) / whole : 0;
}

void Heatmap::draw_labels(Svg& svg, double left, double top, double cell) const {
  // Labels that would overlap are left out.
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(10 / std::max(cell, 0.1))));
  for (std::size_t row = 0; row < rows_.size(); row += every) {
    svg.text(
        "tick",
        {.x = left - 4, .y = top + cell * (static_cast<double>(row) + 0.5) + 3.5, .anchor = "end"},
        shortened(rows_[row], kShownLetters));
  }
  for (std::size_t column = 0; column < columns_.size(); column += every) {
    svg.text(
        "tick",
        {.x = left + cell * (static_cast<double>(column) + 0.5) + 3.5, .y = top - 4, .angle = -60},
        shortened(columns_[column], kShownLetters));
  }
}

std::string Heatmap::markup() const {
  const std::size_t columns = values_.empty() ? 0 : values_[0].size();
  const double left = 26 + 6.2 * longest_label(rows_);
  const double top = 26 + 5.6 * longest_label(columns_);
  const double cell = std::min(34.0, (PlotFrame::kWidth - left - 30) /
                                         static_cast<double>(std::max<std::size_t>(columns, 1)));
  const double width = left + cell * static_cast<double>(columns) + 30;
  const double height = top + cell * static_cast<double>(values_.size()) + 8;
  auto range = range_of(values_, false);
  if (options_.is_diverging) {
    range.high = std::max(std::abs(range.low), std::abs(range.high));
  }
  Svg svg(std::max(width, PlotFrame::kWidth), height, title());
  svg.text("label",
           {.x = left + cell * static_cast<double>(columns) / 2, .y = 12, .anchor = "middle"},
           options_.column_label);
  svg.text("label",
           {.x = 12,
            .y = top + cell * static_cast<double>(values_.size()) / 2,
            .anchor = "middle",
            .angle = -90},
           options_.row_label);
  draw_labels(svg, left, top, cell);
  for (std::size_t row = 0; row < values_.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double value = values_[row][column];
      const double shade = strength(row, column, range);
      const double x = left + cell * static_cast<double>(column);
      const double y = top + cell * static_cast<double>(row);
      svg.cell(
          options_.is_diverging ? "cell diverging" : "cell", shade, x, y, cell, cell,
          str_cat(name_at(rows_, row), " → ", name_at(columns_, column), ": ", number_text(value)));
      if (options_.shows_values) {
        svg.text(std::abs(shade) > kStrong ? "value strong" : "value",
                 {.x = x + cell / 2, .y = y + cell / 2 + 3.5, .anchor = "middle"},
                 number_text(value, 3));
      }
    }
  }
  return svg.markup();
}

Json Heatmap::json(Json& /*axes*/) const {
  return {{"type", kind()},
          {"title", title()},
          {"rows", rows_},
          {"columns", columns_},
          {"values", values_}};
}

ScatterPlot::ScatterPlot(std::string title, Options options, std::vector<Point> points)
    : Figure(std::move(title)), options_(std::move(options)), points_(std::move(points)) {}

/// Labels that would overlap an earlier one are left out; all points show theirs on hover.
void ScatterPlot::draw_labels(Svg& svg, const PlotFrame& frame) const {
  constexpr double kLetter = 6;  // width
  constexpr double kLine = 10;   // height
  struct Box {
    double left;
    double right;
    double y;
  };
  std::vector<Box> drawn;
  for (const auto& point : points_) {
    const auto text = shortened(point.label, kShownLetters);
    const double width = kLetter * static_cast<double>(utf8::decode(text).size());
    const double x = frame.x(point.x);
    const bool is_left = x + width + 5 > PlotFrame::kWidth;
    const Box box{.left = is_left ? x - 5 - width : x + 5,
                  .right = is_left ? x - 5 : x + 5 + width,
                  .y = frame.y(point.y)};
    const bool overlaps = std::ranges::any_of(drawn, [&](const Box& other) {
      return box.left < other.right && other.left < box.right && std::abs(box.y - other.y) < kLine;
    });
    if (!overlaps) {
      drawn.push_back(box);
      svg.text("tick",
               {.x = is_left ? box.right : box.left,
                .y = box.y + 3,
                .anchor = is_left ? "end" : "start"},
               text);
    }
  }
}

std::string ScatterPlot::markup() const {
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& point : points_) {
    x.push_back(point.x);
    y.push_back(point.y);
  }
  const PlotFrame frame(range_of({x}, false), range_of({y}, false), false, false);
  Svg svg(PlotFrame::kWidth, PlotFrame::kHeight, title());
  frame.draw(svg, options_.x_label, options_.y_label);
  for (const auto& point : points_) {
    svg.circle(str_cat("dot c", point.group % kColors), frame.x(point.x), frame.y(point.y), 3,
               point.label);
  }
  if (options_.shows_labels) {
    draw_labels(svg, frame);
  }
  for (std::size_t i = 0; i < options_.groups.size(); ++i) {
    frame.draw_legend(svg, i, static_cast<int64_t>(i), options_.groups[i]);
  }
  return svg.markup();
}

Json ScatterPlot::json(Json& /*axes*/) const {
  Json json = {{"type", kind()}, {"title", title()}, {"points", Json::array()}};
  for (const auto& point : points_) {
    json["points"].push_back({point.x, point.y, point.label});
  }
  return json;
}

}  // namespace weft::report
