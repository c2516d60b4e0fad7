#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/markup.h"

namespace weft::report {

inline constexpr int64_t kColors = 8;  // c0 to c7 of page.css, for series and groups

/// A range of values on an axis, and where they are in the picture.
struct Scale {
  double low = 0;
  double high = 1;
  double begin = 0;  // position of `low`
  double end = 1;
  bool is_log = false;

  double operator()(double value) const;
};

/// At most about `count` round numbers within the range; powers of ten on a logarithmic scale.
std::vector<double> ticks(const Scale& scale, int count);
/// `0.5`, `20k`, `1.5M`, `1e-06`
std::string tick_text(double value);

/// The smallest and the largest finite value; `is_log`: of the positive ones. Widened if they are
/// equal, [0, 1] if there are none.
struct Range {
  double low = 0;
  double high = 1;
};
Range range_of(const std::vector<std::vector<double>>& values, bool is_log);

/// Builds an SVG picture. Colours are classes of page.css.
class Svg {
 public:
  Svg(double width, double height, std::string label)
      : width_(width), height_(height), label_(std::move(label)) {}

  void line(std::string_view classes, double x1, double y1, double x2, double y2);
  void path(const std::string& classes, const std::string& data, const std::string& tip = "");
  void rect(const Attributes& attributes,
            double x,
            double y,
            double w,
            double h,
            const std::string& tip = "");
  /// A cell of a heatmap: `value` from 0 to 1, or from -1 to 1 if `classes` contain `diverging`.
  void cell(const std::string& classes,
            double value,
            double x,
            double y,
            double w,
            double h,
            const std::string& tip);
  void circle(
      const std::string& classes, double x, double y, double radius, const std::string& tip = "");
  struct TextPlace {
    double x = 0;
    double y = 0;
    std::string_view anchor = "start";  // start, middle, end
    double angle = 0;                   // degrees
  };
  void text(const std::string& classes, const TextPlace& place, std::string_view text);
  void image(const std::string& url, double x, double y, double w, double h);

  /// The `svg` element.
  std::string markup() const;

 private:
  double width_;
  double height_;
  std::string label_;
  std::string content_;
};

/// The rectangle of a plot within a picture of 480 x 300, with axes, ticks and labels.
struct PlotFrame {
  static constexpr double kWidth = 480;
  static constexpr double kHeight = 300;
  Scale x;
  Scale y;

  PlotFrame(const Range& x_range, const Range& y_range, bool x_is_log, bool y_is_log);
  /// Draws grid, ticks and the names of the axes.
  void draw(Svg& svg, const std::string& x_label, const std::string& y_label) const;
  /// Name of a series or group in its colour, at the right; `row` counts from above.
  void draw_legend(Svg& svg, std::size_t row, int64_t color, const std::string& name) const;
  /// Only the y axis and its grid, where x has categories.
  void draw_y(Svg& svg, const std::string& y_label) const;
};

/// Path through the points; values that are not finite (or not positive on a logarithmic scale)
/// interrupt it. At most `most` points are drawn.
std::string path_through(const std::vector<double>& x,
                         const std::vector<double>& y,
                         const PlotFrame& frame,
                         std::size_t most);

/// A coordinate with at most two decimals.
std::string coordinate(double value);

/// A complete SVG file of a figure's `svg` element, with light colours.
std::string svg_file(const std::string& svg);

}  // namespace weft::report
