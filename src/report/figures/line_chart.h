#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "report/figure.h"

namespace weft::report {

/// Values of the points of a series on each x axis, by its name.
using AxisValues = std::map<std::string, std::vector<double>>;

/// One curve. A point whose y is not finite is a gap.
struct Series {
  std::string name;
  std::shared_ptr<const AxisValues> x;
  std::vector<double> y;
  int64_t run = 0;            // index of the run in the page
  std::string run_name = {};  // for the legend, if there are several
};

/// An event of a run, drawn as a vertical line.
struct Mark {
  int64_t run = 0;
  std::string kind;                 // resume, skipped, spike, rollback
  std::string label;                // `resumed at step 300`
  std::map<std::string, double> x;  // place on each axis
};

struct LineChartOptions {
  struct Axis {
    std::string name;   // key of AxisValues
    std::string label;  // with unit
  };
  std::vector<Axis> x;  // the reader chooses one; the first is shown at first
  std::string y_label;
  bool x_is_log = false;
  bool y_is_log = false;
  bool can_be_smoothed = false;
  bool has_diagonal = false;  // from (0, 0) to (1, 1), both axes from 0 to 1
};

class LineChart : public Figure {
 public:
  LineChart(std::string title,
            LineChartOptions options,
            std::vector<Series> series,
            std::vector<Mark> marks = {});

  std::string kind() const override { return "line"; }
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  int64_t color_of(std::size_t series) const;
  bool has_several_runs() const;

  LineChartOptions options_;
  std::vector<Series> series_;
  std::vector<Mark> marks_;
};

/// A series of values at the numbers `x`, for a chart with a single axis named `x`.
Series series_of(std::string name, std::vector<double> x, std::vector<double> y);

}  // namespace weft::report
