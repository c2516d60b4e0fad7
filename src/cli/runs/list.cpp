#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>

#include <sys/stat.h>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "config/section.h"
#include "objectives/objective_registry.h"
#include "report/run_summary.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr int kListedDigits = 4;  // of the metric

/// `2026-11-24 20:15` of the last change of the run's metrics, else of its log.
std::string date_of(const std::string& directory) {
  for (const std::string name : {"/metrics.jsonl", "/train.log"}) {
    struct stat facts {};
    if (::stat((directory + name).c_str(), &facts) == 0) {
      std::tm local{};
      localtime_r(&facts.st_mtime, &local);
      std::array<char, 32> text{};
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
      return text.data();
    }
  }
  return "";
}

/// The metric that selects checkpoints: train.best_by, or the default of the objective.
std::string metric_of(const report::RunSummary& run) {
  auto name = run.setting("train.best_by");
  if (!name.empty()) {
    return name;
  }
  const auto document = config::Document::load(run.directory + "/config.yaml", {});
  auto section = document.root().section("objective", {.help = "The objective."});
  return objectives::read_objective(section)->metric_for_best_model();
}

Json best_of(const report::RunSummary& run) {
  if (!run.state || run.state->scored.empty()) {
    return nullptr;
  }
  const auto& best = run.state->scored.front();
  return {{"metric", metric_of(run)}, {"value", best.value}, {"step", best.step}};
}

Json line_of(const std::string& directory) {
  const auto run = report::read_run(directory);
  return {{"run", directory},
          {"objective", run.setting("objective.type")},
          {"model", run.model()},
          {"steps", run.state ? run.state->progress.steps : 0},
          {"duration", run.setting("train.duration")},
          {"state", run.status()},
          {"best", best_of(run)},
          {"date", date_of(directory)}};
}

std::string list_table(const std::vector<Json>& lines) {
  std::vector<std::vector<std::string>> rows = {
      {"run", "objective", "model", "steps", "duration", "state", "best metric", "date"}};
  const auto text = [](const Json& line, const char* key) { return line[key].get<std::string>(); };
  for (const auto& line : lines) {
    const auto& best = line["best"];
    rows.push_back({text(line, "run"), text(line, "objective"), text(line, "model"),
                    line["steps"].dump(), text(line, "duration"), text(line, "state"),
                    best.is_null() ? "-"
                                   : str_cat(text(best, "metric"), " ",
                                             shortest_repr(round_to_digits(
                                                 best["value"].get<double>(), kListedDigits))),
                    text(line, "date")});
  }
  return format_columns(rows);
}

}  // namespace

int run_list(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft list [DIR] [--json]",
       .description =
           "Lists the runs in a directory (default: runs) and the directories below it: objective, "
           "model, steps and duration, state (finished, running or stopped), the metric of the "
           "best checkpoint, and the date of the last entry of the log.",
       .examples = {"weft list", "weft list runs/quickstart --json"}},
      0, 1);
  arguments.flag("json", "Print one JSON line for each run");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto root =
      arguments.positional().empty() ? std::string("runs") : arguments.positional()[0];
  if (!fs::is_directory(root)) {
    throw UserError(root + ": no such directory; give the one that has the runs");
  }
  std::vector<std::string> directories;
  report::visit_runs(root, [&](const auto& run) { directories.push_back(run); });
  std::vector<Json> lines;
  for (const auto& directory : directories) {
    try {
      lines.push_back(line_of(directory));
    } catch (const UserError& error) {
      log::warning(str_cat("[list] ", error.what()));
    }
  }
  if (arguments.has("json")) {
    for (const auto& line : lines) {
      std::cout << line.dump() << "\n";
    }
  } else if (lines.empty()) {
    log::info(str_cat("[list] ", root, " has no runs"));
  } else {
    std::cout << list_table(lines);
  }
  return 0;
}

}  // namespace weft::cli
