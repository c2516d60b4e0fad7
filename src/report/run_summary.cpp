#include "report/run_summary.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/string_util.h"
#include "config/yaml.h"
#include "train/optimizer/train_options.h"
#include "train/run/train.h"

namespace weft::report {

namespace {

namespace fs = std::filesystem;

bool is_locked(const std::string& directory) {
  const auto path = directory + "/.lock";
  if (!fs::exists(path)) {
    return false;
  }
  const FileDescriptor lock(path, O_RDONLY);
  return ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

constexpr int kMaxDepth = 3;  // of run directories below the given one

void visit_directory(const std::string& directory,
                     int depth,
                     const DirectoryVisitor& on_run,
                     const DirectoryVisitor& on_other) {
  if (is_run_directory(directory)) {
    return on_run(directory);
  }
  if (depth == kMaxDepth || !fs::is_directory(directory)) {
    return;
  }
  if (on_other) {
    on_other(directory);
  }
  std::vector<std::string> below;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_directory() && !entry.is_symlink()) {
      below.push_back(entry.path().string());
    }
  }
  std::ranges::sort(below);
  for (const auto& path : below) {
    visit_directory(path, depth + 1, on_run, on_other);
  }
}

/// A value of the config in YAML flow style.
std::string flow_text(const config::Node& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case config::Node::Kind::kNull:
      return "null";
    case config::Node::Kind::kScalar:
      return node.is_plain ? node.scalar : config::yaml_text(node.scalar);
    case config::Node::Kind::kList:
      for (const auto& item : node.items) {
        parts.push_back(flow_text(item));
      }
      return "[" + join(parts) + "]";
    case config::Node::Kind::kMap:
      for (const auto& entry : node.entries) {
        parts.push_back(entry.key + ": " + flow_text(entry.value));
      }
      return "{" + join(parts) + "}";
  }
  return "";
}

}  // namespace

std::string RunSummary::setting(const std::string& key) const {
  const auto* node = config.value_at(key);
  return node != nullptr && node->kind == config::Node::Kind::kScalar ? node->scalar : "";
}

std::string RunSummary::model() const {
  for (const std::string key : {"model.preset", "model.type", "init_from"}) {
    if (auto value = setting(key); !value.empty()) {
      return value;
    }
  }
  return "";
}

std::optional<int64_t> RunSummary::best_step() const {
  return state && !state->scored.empty() ? std::optional(state->scored.front().step) : std::nullopt;
}

std::string RunSummary::status() const {
  if (is_locked(directory)) {
    return "running";
  }
  const auto patience = setting("train.early_stopping.patience");
  train::EarlyStoppingOptions early;
  if (!patience.empty()) {
    early.patience = std::stoll(patience);
  }
  const auto duration = setting("train.duration");
  const bool is_finished =  // a model that is estimated in one pass has no duration
      state && !state->pending_evaluation &&
      (should_stop_early(state->early_stopping, early) || duration.empty() ||
       is_over(state->progress, config::parse_duration(duration)));
  return is_finished ? "finished" : "stopped";
}

bool is_run_directory(const std::string& directory) {
  return fs::exists(directory + "/config.yaml") && fs::exists(directory + "/train.log");
}

void visit_runs(const std::string& directory,
                const DirectoryVisitor& on_run,
                const DirectoryVisitor& on_other) {
  visit_directory(directory, 0, on_run, on_other);
}

RunSummary read_run(const std::string& directory) {
  if (!is_run_directory(directory)) {
    throw UserError(directory + ": not a run directory, which has config.yaml and train.log");
  }
  RunSummary run{.directory = directory, .config = {}, .state = std::nullopt};
  const auto path = directory + "/config.yaml";
  run.config = config::parse_yaml(MappedFile(path).text(), path);
  const auto state = directory + "/last/training/state.json";
  if (fs::exists(state)) {
    run.state = train::read_state(state);
  }
  return run;
}

std::map<std::string, std::vector<std::string>> config_differences(
    const std::vector<RunSummary>& runs) {
  const auto text_of = [](const RunSummary& run) {
    return read_file(run.directory + "/config.yaml");
  };
  const auto first = text_of(runs[0]);
  std::map<std::string, std::map<std::size_t, std::string>> others;
  std::map<std::string, std::string> before;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const auto& change : train::config_changes(first, text_of(runs[i]))) {
      if (change.key != "run.directory") {
        before[change.key] = change.before;
        others[change.key][i] = change.after;
      }
    }
  }
  std::map<std::string, std::vector<std::string>> differences;
  for (const auto& [key, values] : others) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto found = values.find(i);
      differences[key].push_back(found == values.end() ? before[key] : found->second);
    }
  }
  return differences;
}

std::vector<std::string> evaluation_files(const RunSummary& run) {
  std::vector<std::string> files;
  if (const auto* evaluate = run.config.value_at("data.evaluate")) {
    for (const auto& item : evaluate->items) {
      files.push_back(flow_text(item));
    }
  }
  return files;
}

}  // namespace weft::report
