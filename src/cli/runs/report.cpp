#include "report/report.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/shared_options.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxWatch = 86'400;  // seconds

void declare_report(Arguments& arguments) {
  arguments.group("Output")
      .value("output", "FILE", "The page (default: report.html in the run; of several, here)")
      .value("figures", "DIR", "Also write every figure as an SVG file to this directory")
      .value("examples", "N", "Examples, attention maps and samples of each kind (default: 8)")
      .value("watch", "SECONDS",
             "Write the curves again after every interval, and the whole page when the last run "
             "ends; an open page reloads itself")
      .group("Content")
      .value("data", "FILE",
             "Evaluate on this file instead of data.evaluate of the run; may be repeated")
      .value("split", "PART", "Evaluate on this part of data.split: test, evaluate or train")
      .value("bench", "FILE",
             "Show the output of `weft bench`: parts of a step and memory; may be repeated")
      .flag("curves-only", "Show what the run logged; do not load the model and the data");
  declare_inference(arguments);
}

report::ReportOptions report_options(const Arguments& arguments) {
  report::ReportOptions options{.files = arguments.all("data"),
                                .inference = read_inference(arguments),
                                .loads_model = !arguments.has("curves-only"),
                                .bench_files = arguments.all("bench"),
                                .examples = arguments.integer("examples", 8, 1, 1000)};
  if (arguments.has("split")) {
    options.split = arguments.choice("split", data::SplitPart::kTest,
                                     {std::begin(data::kSplitParts), std::end(data::kSplitParts)});
  }
  for (const auto* name : {"data", "split"}) {
    if (arguments.has(name) && !options.loads_model) {
      throw UsageError(str_cat("weft report: --", name, " has no effect with --curves-only"));
    }
  }
  return options;
}

/// What to write, and where.
struct ReportRequest {
  std::vector<std::string> runs;
  report::ReportOptions options;
  std::string page;
  std::string figures;  // directory; empty: none
};

ReportRequest read_request(const Arguments& arguments) {
  ReportRequest request{.runs = arguments.positional(),
                        .options = report_options(arguments),
                        .page = arguments.get("output"),
                        .figures = arguments.get("figures")};
  if (request.page.empty()) {
    request.page = request.runs.size() == 1 ? request.runs.front() + "/report.html" : "report.html";
  }
  return request;
}

/// Continues in the directory in which the run was started, from where its config names its files.
void enter_directory_of_run(ReportRequest& request) {
  const auto directory = report::starting_directory(request.runs);
  if (directory.empty() || fs::equivalent(directory, fs::current_path())) {
    return;
  }
  const auto make_absolute = [](std::string& path) {
    path = path.empty() ? path : fs::absolute(path).string();
  };
  std::ranges::for_each(request.runs, make_absolute);
  std::ranges::for_each(request.options.bench_files, make_absolute);
  for (auto& file : request.options.files) {
    if (!file.starts_with('{')) {  // an item names its files itself
      make_absolute(file);
    }
  }
  make_absolute(request.page);
  make_absolute(request.figures);
  fs::current_path(directory);
}

void write_report(const ReportRequest& request) {
  report::write_page(report::make_page(report::read_report_input(request.runs, request.options)),
                     request.page, request.figures);
  log::info(str_cat("[report] wrote ", request.page));
}

/// Whether one of the runs is training.
bool is_running(const std::vector<std::string>& directories) {
  const auto input = report::read_report_input(directories, {.loads_model = false});
  return std::ranges::any_of(input.runs,
                             [](const auto& run) { return run.summary.status() == "running"; });
}

void watch(ReportRequest request, int64_t seconds) {
  request.options.loads_model = false;
  request.options.refresh_seconds = seconds;
  while (is_running(request.runs)) {
    write_report(request);
    for (int64_t second = 0; second < seconds; ++second) {
      throw_if_stopped("watching");
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

}  // namespace

int run_report(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft report RUN [RUN ...] [options]",
       .description =
           "Writes one self-contained HTML page about runs: curves with zoom and smoothing, "
           "metrics, config differences and events; for a single run also predictions, confusion "
           "matrix, ROC and calibration curves, attention, positions, embeddings, samples, data "
           "and model. The page makes no requests and can be read without JavaScript. The "
           "directory of a sweep stands for its runs.",
       .examples = {"weft report runs/quickstart/spam",
                    "weft report runs/a runs/b --output comparison.html",
                    "weft report runs/bert-mini --watch 60",
                    "weft report runs/spam --split test --figures figures/"}},
      1, 64);
  declare_report(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  auto request = read_request(arguments);
  enter_directory_of_run(request);
  if (arguments.has("watch")) {
    watch(request, arguments.integer("watch", 0, 1, kMaxWatch));
  }
  write_report(request);
  return 0;
}

}  // namespace weft::cli
