#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "train/step/state.h"

namespace weft::report {

/// What the files of a run directory say about the run.
struct RunSummary {
  std::string directory;
  config::Node config;                     // config.yaml
  std::optional<train::TrainState> state;  // of the last checkpoint; nullopt before the first save

  /// Scalar of a dotted key of the config; empty if it is null or not there.
  std::string setting(const std::string& key) const;
  /// `bert-mini`, or the type without a preset, or the model that training started from.
  std::string model() const;
  /// Step of the best checkpoint; nullopt if none was evaluated.
  std::optional<int64_t> best_step() const;
  /// finished, running or stopped.
  std::string status() const;
};

/// Whether `weft train` wrote this directory.
bool is_run_directory(const std::string& directory);

/// Calls `on_run` for the run directories at or below `directory`, sorted by name, up to three
/// levels down; runs are not nested. `on_other`: for the directories around them, before what is in
/// them.
using DirectoryVisitor = std::function<void(const std::string&)>;
void visit_runs(const std::string& directory,
                const DirectoryVisitor& on_run,
                const DirectoryVisitor& on_other = {});

/// Throws UserError for another directory, and like config::parse_yaml and train::read_state.
RunSummary read_run(const std::string& directory);

/// Keys whose values differ between the runs, each with its value in every run.
std::map<std::string, std::vector<std::string>> config_differences(
    const std::vector<RunSummary>& runs);

/// The files of data.evaluate, as `weft evaluate --data` takes them; empty if the run has none.
std::vector<std::string> evaluation_files(const RunSummary& run);

}  // namespace weft::report
