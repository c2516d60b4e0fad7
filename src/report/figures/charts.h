#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/figure.h"

namespace weft::report {

/// A bar for each category; with several series a group of bars. Categories with long names are
/// below each other.
class BarChart : public Figure {
 public:
  struct Bars {
    std::string name;
    std::vector<double> values;  // one for each category
  };
  BarChart(std::string title,
           std::string y_label,
           std::vector<std::string> categories,
           std::vector<Bars> series);

  std::string kind() const override { return "bar"; }
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  bool is_horizontal() const;
  std::string horizontal_markup() const;
  std::string tip(std::size_t category, std::size_t series) const;

  std::string y_label_;
  std::vector<std::string> categories_;
  std::vector<Bars> series_;
};

/// A matrix as colours.
class Heatmap : public Figure {
 public:
  struct Options {
    std::string row_label;         // of the vertical axis
    std::string column_label;      // of the horizontal axis
    bool is_diverging = false;     // values of both signs, by their absolute value
    bool shows_values = false;     // as numbers in the cells
    bool scales_rows = false;      // colours are shares of the row's sum
    bool starts_at_least = false;  // the least value has the weakest colour, not 0
  };
  /// `values`: one list for each row, with a value for each column. Fewer names than rows or
  /// columns: the rest have none.
  Heatmap(std::string title,
          Options options,
          std::vector<std::string> rows,
          std::vector<std::string> columns,
          std::vector<std::vector<double>> values);

  std::string kind() const override { return "heatmap"; }
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  double strength(std::size_t row, std::size_t column, const struct Range& range) const;
  void draw_labels(class Svg& svg, double left, double top, double cell) const;

  Options options_;
  std::vector<std::string> rows_;
  std::vector<std::string> columns_;
  std::vector<std::vector<double>> values_;
};

/// Points in the plane with a label each, coloured by group.
class ScatterPlot : public Figure {
 public:
  struct Point {
    double x = 0;
    double y = 0;
    std::string label;
    int64_t group = 0;
  };
  struct Options {
    std::string x_label;
    std::string y_label;
    bool shows_labels = false;             // next to the points
    std::vector<std::string> groups = {};  // names; empty: no legend
  };
  ScatterPlot(std::string title, Options options, std::vector<Point> points);

  std::string kind() const override { return "scatter"; }
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  void draw_labels(class Svg& svg, const struct PlotFrame& frame) const;

  Options options_;
  std::vector<Point> points_;
};

}  // namespace weft::report
