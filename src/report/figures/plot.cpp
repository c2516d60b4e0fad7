#include "report/figures/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/string_util.h"
#include "report/page/assets.h"

namespace weft::report {

namespace {

constexpr double kLeft = 58;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 40;
constexpr int kTicks = 5;
constexpr double kMostTicks = 50;  // of numbers so close that their difference is rounded

bool is_drawn(double value, bool is_log) { return std::isfinite(value) && (!is_log || value > 0); }

using Color = std::array<double, 3>;

/// The light colours of page.css, for programs that do not read its custom properties.
std::string cell_color(double value, bool is_diverging) {
  constexpr Color kWeak = {244, 246, 249};
  constexpr Color kBlue = {15, 116, 221};
  constexpr Color kDarkBlue = {6, 40, 94};
  constexpr Color kOrange = {181, 96, 0};
  constexpr Color kDarkOrange = {81, 36, 0};
  constexpr double kMiddle = 0.55;
  const bool is_orange = is_diverging && value > 0;
  const auto& middle = is_orange ? kOrange : kBlue;
  const auto& strong = is_orange ? kDarkOrange : kDarkBlue;
  const double size = std::clamp(std::abs(value), 0.0, 1.0);
  const auto& from = size < kMiddle ? kWeak : middle;
  const auto& to = size < kMiddle ? middle : strong;
  const double part = size < kMiddle ? size / kMiddle : (size - kMiddle) / (1 - kMiddle);
  std::ostringstream text;
  text << '#' << std::hex << std::setfill('0');
  for (std::size_t i = 0; i < from.size(); ++i) {
    text << std::setw(2) << std::lround(from[i] + part * (to[i] - from[i]));
  }
  return text.str();
}

std::string tip_title(const std::string& tip) {
  return tip.empty() ? "" : element("title", {}, escape(tip));
}

}  // namespace

double Scale::operator()(double value) const {
  const auto place = [this](double v) { return is_log ? std::log10(v) : v; };
  const double span = place(high) - place(low);
  return begin + (end - begin) * (span > 0 ? (place(value) - place(low)) / span : 0.5);
}

std::vector<double> ticks(const Scale& scale, int count) {
  std::vector<double> result;
  if (scale.is_log && scale.high / scale.low >= 10) {
    const auto first = static_cast<int>(std::ceil(std::log10(scale.low) - 1e-9));
    const auto last = static_cast<int>(std::floor(std::log10(scale.high) + 1e-9));
    const int step = std::max(1, (last - first + count) / count);
    for (int power = first; power <= last; power += step) {
      result.push_back(std::pow(10.0, power));
    }
    return result;
  }
  const double rough = (scale.high - scale.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  constexpr std::array<double, 4> kRound = {1, 2, 5, 10};
  const auto* const factor = std::find_if(kRound.begin(), kRound.end(),
                                          [&](double f) { return f * power >= rough * 0.999; });
  const double step = (factor == kRound.end() ? 10 : *factor) * power;
  const double first = std::ceil(scale.low / step - 1e-9);
  const double last = std::floor(scale.high / step + 1e-9);
  for (double i = 0; i <= std::min(last - first, kMostTicks); ++i) {
    result.push_back((first + i) * step + 0.0);  // no negative zero
  }
  return result;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e3 && size < 1e12) {
    constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
        {{1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
    for (const auto& [unit, letter] : kUnits) {
      if (size >= unit) {
        return number_text(value / unit, 4) + letter;
      }
    }
  }
  return number_text(value, 4);
}

Range range_of(const std::vector<std::vector<double>>& values, bool is_log) {
  Range range{.low = INFINITY, .high = -INFINITY};
  for (const auto& list : values) {
    for (const double value : list) {
      if (is_drawn(value, is_log)) {
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
    }
  }
  if (range.low > range.high) {
    return {.low = is_log ? 0.1 : 0, .high = 1};
  }
  if (range.low == range.high) {
    const double margin = std::max(std::abs(range.low) * 0.1, 1e-12);
    return {.low = range.low - (is_log ? 0.5 * range.low : margin), .high = range.high + margin};
  }
  return range;
}

std::string coordinate(double value) { return shortest_repr(std::round(value * 100) / 100); }

void Svg::line(std::string_view classes, double x1, double y1, double x2, double y2) {
  content_ += element("line", {{"class", std::string(classes)},
                               {"x1", coordinate(x1)},
                               {"y1", coordinate(y1)},
                               {"x2", coordinate(x2)},
                               {"y2", coordinate(y2)}});
}

void Svg::path(const std::string& classes, const std::string& data, const std::string& tip) {
  content_ += element("path", {{"class", classes}, {"d", data}}, tip_title(tip));
}

void Svg::rect(
    const Attributes& attributes, double x, double y, double w, double h, const std::string& tip) {
  auto all = attributes;
  all.insert(all.end(), {{"x", coordinate(x)},
                         {"y", coordinate(y)},
                         {"width", coordinate(w)},
                         {"height", coordinate(h)}});
  content_ += element("rect", all, tip_title(tip));
}

void Svg::cell(const std::string& classes,
               double value,
               double x,
               double y,
               double w,
               double h,
               const std::string& tip) {
  rect({{"class", classes},
        {"style", "--v:" + number_text(value, 3)},
        {"fill", cell_color(value, classes.find("diverging") != std::string::npos)}},
       x, y, w, h, tip);
}

void Svg::circle(
    const std::string& classes, double x, double y, double radius, const std::string& tip) {
  Attributes all = {
      {"class", classes}, {"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", coordinate(radius)}};
  content_ += element("circle", all, tip_title(tip));
}

void Svg::text(const std::string& classes, const TextPlace& place, std::string_view text) {
  Attributes all = {{"class", classes},
                    {"x", coordinate(place.x)},
                    {"y", coordinate(place.y)},
                    {"text-anchor", std::string(place.anchor)}};
  if (place.angle != 0) {
    all.emplace_back("transform", str_cat("rotate(", coordinate(place.angle), " ",
                                          coordinate(place.x), " ", coordinate(place.y), ")"));
  }
  content_ += element("text", all, escape(text));
}

void Svg::image(const std::string& url, double x, double y, double w, double h) {
  content_ += element("image", {{"href", url},
                                {"x", coordinate(x)},
                                {"y", coordinate(y)},
                                {"width", coordinate(w)},
                                {"height", coordinate(h)},
                                {"image-rendering", "pixelated"}});
}

std::string Svg::markup() const {
  return element("svg",
                 {{"xmlns", "http://www.w3.org/2000/svg"},
                  {"viewBox", str_cat("0 0 ", coordinate(width_), " ", coordinate(height_))},
                  {"role", "img"},
                  {"aria-label", label_}},
                 content_);
}

PlotFrame::PlotFrame(const Range& x_range, const Range& y_range, bool x_is_log, bool y_is_log)
    : x{.low = x_range.low,
        .high = x_range.high,
        .begin = kLeft,
        .end = kWidth - kRight,
        .is_log = x_is_log},
      y{.low = y_range.low,
        .high = y_range.high,
        .begin = kHeight - kBottom,
        .end = kTop,
        .is_log = y_is_log} {}

void PlotFrame::draw(Svg& svg, const std::string& x_label, const std::string& y_label) const {
  draw_y(svg, y_label);
  for (const double tick : ticks(x, kTicks)) {
    svg.line("axis", x(tick), y.begin, x(tick), y.begin + 4);
    svg.text("tick", {.x = x(tick), .y = y.begin + 16, .anchor = "middle"}, tick_text(tick));
  }
  svg.text("label", {.x = (x.begin + x.end) / 2, .y = kHeight - 6, .anchor = "middle"}, x_label);
}

void PlotFrame::draw_legend(Svg& svg,
                            std::size_t row,
                            int64_t color,
                            const std::string& name) const {
  svg.text(str_cat("legend c", color % kColors),
           {.x = x.end - 4, .y = y.end + 12 + 13 * static_cast<double>(row), .anchor = "end"},
           name);
}

void PlotFrame::draw_y(Svg& svg, const std::string& y_label) const {
  for (const double tick : ticks(y, kTicks)) {
    svg.line("grid", x.begin, y(tick), x.end, y(tick));
    svg.text("tick", {.x = x.begin - 6, .y = y(tick) + 3.5, .anchor = "end"}, tick_text(tick));
  }
  svg.line("axis", x.begin, y.begin, x.end, y.begin);
  svg.line("axis", x.begin, y.begin, x.begin, y.end);
  svg.text("label", {.x = 12, .y = (y.begin + y.end) / 2, .anchor = "middle", .angle = -90},
           y_label);
}

std::string path_through(const std::vector<double>& x,
                         const std::vector<double>& y,
                         const PlotFrame& frame,
                         std::size_t most) {
  std::string path;
  bool is_open = false;
  const std::size_t stride = std::max<std::size_t>(1, (x.size() + most - 1) / most);
  for (std::size_t i = 0; i < x.size(); i += stride) {
    const bool is_shown = is_drawn(x[i], frame.x.is_log) && is_drawn(y[i], frame.y.is_log);
    if (is_shown) {
      path +=
          str_cat(is_open ? "L" : "M", coordinate(frame.x(x[i])), " ", coordinate(frame.y(y[i])));
    }
    is_open = is_shown;
  }
  return path;
}

std::string svg_file(const std::string& svg) {
  const auto end = svg.find('>') + 1;
  const auto background =
      element("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#ffffff"}});
  return str_cat(svg.substr(0, end), element("style", {}, figure_css()), background,
                 svg.substr(end), "\n");
}

}  // namespace weft::report
