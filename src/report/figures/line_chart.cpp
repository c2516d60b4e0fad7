#include "report/figures/line_chart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/string_util.h"
#include "report/figures/plot.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr std::size_t kDrawnPoints = 400;  // of a static curve
constexpr std::size_t kMostMarks = 50;     // drawn without scripts

/// Numbers as they are; null where there is none.
Json numbers_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) {
    list.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  }
  return list;
}

Json axis_json(const AxisValues& values) {
  Json json = Json::object();
  for (const auto& [name, list] : values) {
    json[name] = numbers_json(list);
  }
  return json;
}

/// Key of the axis among those of the page, which it is added to.
std::string shared_axis(const AxisValues& values, Json& axes) {
  auto json = axis_json(values);
  for (const auto& [key, known] : axes.items()) {
    if (known == json) {
      return key;
    }
  }
  auto key = str_cat("k", axes.size());
  axes[key] = std::move(json);
  return key;
}

}  // namespace

LineChart::LineChart(std::string title,
                     LineChartOptions options,
                     std::vector<Series> series,
                     std::vector<Mark> marks)
    : Figure(std::move(title)),
      options_(std::move(options)),
      series_(std::move(series)),
      marks_(std::move(marks)) {}

bool LineChart::has_several_runs() const {
  return std::ranges::any_of(series_, [&](const Series& s) { return s.run != series_[0].run; });
}

int64_t LineChart::color_of(std::size_t series) const {
  return (has_several_runs() ? series_[series].run : static_cast<int64_t>(series)) % kColors;
}

std::string LineChart::markup() const {
  const auto& axis = options_.x.front();
  std::vector<std::vector<double>> x;
  std::vector<std::vector<double>> y;
  for (const auto& series : series_) {
    const auto found = series.x->find(axis.name);
    x.push_back(found == series.x->end() ? std::vector<double>() : found->second);
    y.push_back(x.back().empty() ? std::vector<double>() : series.y);
  }
  const Range unit{.low = 0, .high = 1};
  const PlotFrame frame(options_.has_diagonal ? unit : range_of(x, options_.x_is_log),
                        options_.has_diagonal ? unit : range_of(y, options_.y_is_log),
                        options_.x_is_log, options_.y_is_log);
  Svg svg(PlotFrame::kWidth, PlotFrame::kHeight,
          str_cat(title(), ": ", options_.y_label, " by ", axis.label));
  frame.draw(svg, axis.label, options_.y_label);
  if (options_.has_diagonal) {
    svg.line("diagonal", frame.x(0), frame.y(0), frame.x(1), frame.y(1));
  }
  for (std::size_t i = 0; i < std::min(marks_.size(), kMostMarks); ++i) {
    if (const auto place = marks_[i].x.find(axis.name); place != marks_[i].x.end()) {
      const double at = frame.x(place->second);
      svg.path("mark",
               str_cat("M", coordinate(at), " ", coordinate(frame.y.begin), "V",
                       coordinate(frame.y.end)),
               marks_[i].label);
    }
  }
  for (std::size_t i = 0; i < series_.size(); ++i) {
    svg.path(str_cat("series c", color_of(i)), path_through(x[i], y[i], frame, kDrawnPoints),
             series_[i].name);
    if (series_.size() > 1) {
      frame.draw_legend(svg, i, color_of(i),
                        series_[i].run_name.empty()
                            ? series_[i].name
                            : str_cat(series_[i].run_name, ", ", series_[i].name));
    }
  }
  return svg.markup();
}

Json LineChart::json(Json& axes) const {
  Json json = {{"type", kind()},
               {"title", title()},
               {"x", Json::array()},
               {"y_label", options_.y_label},
               {"log_x", options_.x_is_log},
               {"log_y", options_.y_is_log},
               {"smooth", options_.can_be_smoothed},
               {"diagonal", options_.has_diagonal},
               {"series", Json::array()},
               {"marks", Json::array()}};
  for (const auto& axis : options_.x) {
    json["x"].push_back({{"name", axis.name}, {"label", axis.label}});
  }
  for (const auto& series : series_) {
    json["series"].push_back({{"name", series.name},
                              {"run", series.run},
                              {"axis", shared_axis(*series.x, axes)},
                              {"y", numbers_json(series.y)}});
  }
  for (const auto& mark : marks_) {
    Json entry = {{"run", mark.run}, {"kind", mark.kind}, {"label", mark.label}};
    for (const auto& [name, place] : mark.x) {
      entry[name] = place;
    }
    json["marks"].push_back(std::move(entry));
  }
  return json;
}

Series series_of(std::string name, std::vector<double> x, std::vector<double> y) {
  return {.name = std::move(name),
          .x = std::make_shared<const AxisValues>(AxisValues{{"x", std::move(x)}}),
          .y = std::move(y)};
}

}  // namespace weft::report
