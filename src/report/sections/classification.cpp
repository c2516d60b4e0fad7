#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "formats/json.h"
#include "metrics/ranking_metrics.h"
#include "report/evaluation_json.h"
#include "report/figures/charts.h"
#include "report/figures/line_chart.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr std::size_t kCurvePoints = 600;
constexpr int kCalibrationBins = 10;
constexpr std::size_t kCurveClasses = 8;    // with curves of their own
constexpr std::size_t kMatrixClasses = 30;  // of the largest matrix that is drawn

LineChartOptions curve_options(std::string x, std::string y, bool has_diagonal = false) {
  return {.x = {{"x", std::move(x)}}, .y_label = std::move(y), .has_diagonal = has_diagonal};
}

/// Points of a curve, thinned out.
Series thinned(const std::string& name,
               const std::vector<double>& x,
               const std::vector<double>& y) {
  std::vector<double> shown_x;
  std::vector<double> shown_y;
  for (const auto index : shown_points(y, kCurvePoints)) {
    shown_x.push_back(x[index]);
    shown_y.push_back(y[index]);
  }
  return series_of(name, std::move(shown_x), std::move(shown_y));
}

/// The examples of an evaluation, by class: whether each has it, and its probability.
struct ClassScores {
  std::string name;
  std::vector<bool> is_label;
  std::vector<double> scores;
};

/// Of single-label and multi-label classification; empty for others.
std::vector<ClassScores> class_scores(const std::vector<objectives::ExampleResult>& examples) {
  std::vector<ClassScores> classes;
  for (const auto& example : examples) {
    const auto& fields = example.fields;
    if (!fields.contains("scores") || !fields["scores"].is_object()) {
      return {};
    }
    std::size_t id = 0;
    for (const auto& [name, score] : fields["scores"].items()) {
      if (id == classes.size()) {
        classes.push_back({.name = name, .is_label = {}, .scores = {}});
      }
      const bool is_label =
          fields.contains("label")
              ? fields["label"] == name
              : std::ranges::find(fields["labels"], Json(name)) != fields["labels"].end();
      classes[id].is_label.push_back(is_label);
      classes[id].scores.push_back(score.get<double>());
      ++id;
    }
  }
  return classes;
}

/// The classes whose curves are drawn: of two the positive one, of many the most frequent ones.
std::vector<ClassScores> drawn_classes(std::vector<ClassScores> classes,
                                       const std::string& positive) {
  if (classes.size() == 2) {
    std::erase_if(classes, [&](const ClassScores& one) { return one.name != positive; });
    return classes;
  }
  const auto support = [](const ClassScores& one) {
    return -std::ranges::count(one.is_label, true);
  };
  std::ranges::stable_sort(classes, {}, support);
  classes.resize(std::min(classes.size(), kCurveClasses));
  return classes;
}

void add_curves(const std::vector<ClassScores>& classes, Page& page) {
  std::vector<Series> roc;
  std::vector<Series> precision_recall;
  std::vector<Series> calibration;
  for (const auto& [name, is_label, scores] : classes) {
    const auto receiver = metrics::roc_curve(is_label, scores);
    roc.push_back(thinned(name, receiver.x, receiver.y));
    const auto precision = metrics::precision_recall_curve(is_label, scores);
    precision_recall.push_back(thinned(name, precision.x, precision.y));
    std::vector<double> means;
    std::vector<double> fractions;
    for (const auto& bin : metrics::calibration_bins(is_label, scores, kCalibrationBins)) {
      means.push_back(bin.mean_probability);
      fractions.push_back(bin.positive_fraction);
    }
    calibration.push_back(series_of(name, std::move(means), std::move(fractions)));
  }
  page.add(LineChart("ROC curve", curve_options("False positive rate", "true positive rate", true),
                     std::move(roc)));
  page.add(LineChart("Precision-recall curve", curve_options("Recall", "precision"),
                     std::move(precision_recall)));
  page.add(LineChart("Calibration",
                     curve_options("Mean predicted probability", "fraction of positives", true),
                     std::move(calibration)));
}

/// Precision, recall and F1 of the positive class for every threshold.
void add_threshold_curve(const ClassScores& positive, Page& page) {
  const auto curve = metrics::precision_recall_curve(positive.is_label, positive.scores);
  std::vector<double> f1;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const double sum = curve.x[i] + curve.y[i];
    f1.push_back(sum > 0 ? 2 * curve.x[i] * curve.y[i] / sum : 0);
  }
  page.add(LineChart(
      "Threshold of the class " + positive.name,
      curve_options("Threshold", "precision, recall, F1"),
      {thinned("precision", curve.thresholds, curve.y),
       thinned("recall", curve.thresholds, curve.x), thinned("F1", curve.thresholds, f1)}));
}

void add_class_bars(const Json& per_class, Page& page) {
  std::vector<std::string> names;
  std::vector<BarChart::Bars> bars = {{"precision", {}}, {"recall", {}}, {"f1", {}}};
  Table table{.caption = "Metrics of each class",
              .columns = {"Class", "Precision", "Recall", "F1", "Support"},
              .rows = {}};
  for (const auto& [name, scores] : per_class.items()) {
    names.push_back(name);
    std::vector<std::string> row = {name};
    for (auto& [metric, values] : bars) {
      values.push_back(scores.at(metric).get<double>());
      row.push_back(number_text(values.back(), 4));
    }
    row.push_back(number_text(scores.at("support").get<double>()));
    table.rows.push_back(std::move(row));
  }
  if (names.size() <= kMatrixClasses) {
    page.add(BarChart("Metrics of each class", "metric", std::move(names), std::move(bars)));
  }
  page.add(table);
}

void add_confusion_matrix(const Json& report, Page& page) {
  const auto& matrix = report["confusion_matrix"];
  const auto labels = report["labels"].get<std::vector<std::string>>();
  if (matrix.is_array() && labels.size() <= kMatrixClasses) {
    page.add(Heatmap("Confusion matrix",
                     {.row_label = "label",
                      .column_label = "prediction",
                      .shows_values = labels.size() <= 12,
                      .scales_rows = true},
                     labels, labels, matrix.get<std::vector<std::vector<double>>>()));
  }
}

void add_regression(const std::vector<objectives::ExampleResult>& examples, Page& page) {
  constexpr std::size_t kScatterPoints = 1500;
  std::vector<ScatterPlot::Point> points;
  for (const auto& example : examples) {
    const auto& label = example.fields.value("label", Json());
    const auto& prediction = example.fields.value("prediction", Json());
    if (label.is_number() && prediction.is_number() && points.size() < kScatterPoints) {
      points.push_back({.x = label.get<double>(),
                        .y = prediction.get<double>(),
                        .label = str_cat("label ", number_text(label.get<double>()),
                                         ", prediction ", number_text(prediction.get<double>()))});
    }
  }
  if (!points.empty()) {
    page.add(ScatterPlot("Predictions", {.x_label = "Label", .y_label = "prediction"},
                         std::move(points)));
  }
}

}  // namespace

void add_classification(const ReportInput& input, Page& page) {
  if (!input.loaded || !input.loaded->evaluation) {
    return;
  }
  const auto& evaluation = *input.loaded->evaluation->evaluation;
  const auto report = evaluation_json(*input.loaded->evaluation);
  page.add_data("evaluation", report);
  Table table{.caption = str_cat("Metrics of ", input.loaded->evaluation->directory),
              .columns = {"Metric", "Value"},
              .rows = {}};
  for (const auto& [name, value] : report.items()) {
    if (value.is_number()) {
      table.rows.push_back({name, number_text(value.get<double>())});
    }
  }
  page.note(str_cat(with_commas(static_cast<int64_t>(evaluation.size())),
                    " examples of the evaluation data."));
  if (report.contains("confusion_matrix")) {
    add_confusion_matrix(report, page);
  }
  const auto examples = evaluation.hardest_examples(static_cast<int64_t>(evaluation.size()))
                            .value_or(std::vector<objectives::ExampleResult>());
  const auto classes = drawn_classes(class_scores(examples), report.value("positive_label", ""));
  if (!classes.empty()) {
    add_curves(classes, page);
  }
  if (classes.size() == 1) {
    add_threshold_curve(classes.front(), page);
  }
  if (input.loaded->model->options().is_regression) {
    add_regression(examples, page);
  }
  if (report.contains("per_class")) {
    add_class_bars(report["per_class"], page);
  }
  page.add(table);
}

}  // namespace weft::report
