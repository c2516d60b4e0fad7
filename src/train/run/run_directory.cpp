#include "train/run/run_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/string_util.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/train.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;

// Whether the file is one that a run writes besides its checkpoints.
bool is_run_file(const std::string& name) {
  return name.starts_with("last") || name.starts_with("best") || name.starts_with("config.yaml") ||
         name.starts_with("metrics.jsonl") || name.starts_with("run.json") ||
         name.starts_with("split.json") || name.starts_with("events.out.tfevents.");
}

bool is_incomplete(const std::string& name) {
  return (name.starts_with("checkpoint-") && name.ends_with(".tmp")) ||
         (is_run_file(name) && name.find(".tmp-") != std::string::npos);
}

}  // namespace

void check_writable(const std::string& directory) {
  std::error_code ignored;
  auto nearest = fs::absolute(directory);
  while (!fs::exists(nearest, ignored) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  if (!fs::is_directory(nearest, ignored)) {
    throw UserError(str_cat("'", directory, "': ", nearest.string(), " is not a directory"));
  }
  // Permissions do not tell for root, or for file systems such as /proc.
  auto probe = (nearest / ".weft-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) {
    throw UserError(str_cat("'", directory, "': ", nearest.string(), " is not writable (",
                            std::strerror(errno), "): choose another directory"));
  }
  ::rmdir(probe.c_str());
}

RunDirectory::RunDirectory(std::string path, RunAccess access)
    : path_(std::move(path)), access_(access) {
  if (!is_writable()) {
    return;
  }
  make_durable_directories(path_);
  lock_ = std::make_unique<FileDescriptor>(path_ + "/.lock", O_RDWR | O_CREAT);
  if (::flock(lock_->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw UserError(path_ +
                      ": another process is training in this run directory, choose another "
                      "--output or wait for it");
    }
    throw_errno(lock_->path(), "lock");
  }
}

RunDirectory::~RunDirectory() = default;

void RunDirectory::remove_leftovers() const {
  if (!is_writable()) {
    return;
  }
  const auto names = list_directory(path_);
  for (const auto& name : names) {
    const auto entry = path_ + "/" + name;
    if (is_incomplete(name)) {
      remove_quietly(entry);
    } else if (name.starts_with("checkpoint-") && name.ends_with(kReplaced)) {
      const auto original = entry.substr(0, entry.size() - std::string_view(kReplaced).size());
      std::error_code ignored;
      fs::exists(original, ignored) ? remove_quietly(entry) : rename_and_flush(entry, original);
    }
  }
}

void RunDirectory::clear() const {
  if (!is_writable()) {
    return;
  }
  for (const auto step : checkpoint_steps(path_)) {
    remove_checkpoint(path_ + "/" + checkpoint_name(step));
  }
  for (const auto& name : names_to_clear()) {
    remove_quietly(path_ + "/" + name);
  }
}

std::vector<std::string> RunDirectory::names_to_clear() const {
  std::vector<std::string> names;
  for (const auto step : checkpoint_steps(path_)) {
    names.push_back(checkpoint_name(step));
  }
  for (const auto& name : list_directory(path_)) {
    if (name == "last" || name == "best" || name == "metrics.jsonl" || name == "run.json" ||
        name == "split.json" || name == "train.log" || name == "report.html" ||
        name.starts_with("events.out.tfevents.")) {
      names.push_back(name);
    }
  }
  return names;
}

void RunDirectory::reject_inputs(const std::string& resolved) const {
  const auto names = names_to_clear();
  for (const auto& [key, value] : config_values(resolved)) {
    if (key != "run.directory" && leads_to(value, names)) {
      throw UserError(str_cat(key, ": ", value, " belongs to the earlier run in ", path_,
                              ", which --resume never would delete; choose another --output"));
    }
  }
}

bool RunDirectory::would_clear(const std::string& path) const {
  return leads_to(path, names_to_clear());
}

bool RunDirectory::leads_to(const std::string& path, const std::vector<std::string>& names) const {
  std::error_code ignored;
  const auto relative = fs::relative(path, path_, ignored);  // resolves symbolic links
  if (names.empty() || relative.empty()) {
    return false;
  }
  return relative == "." || std::find(names.begin(), names.end(), *relative.begin()) != names.end();
}

void RunDirectory::mark_superseded_after(int64_t step) const {
  if (!is_writable()) {
    return;
  }
  for (const auto later : checkpoint_steps(path_)) {
    if (later > step) {
      const auto from = path_ + "/" + checkpoint_name(later);
      remove_quietly(from + ".superseded");
      rename_and_flush(from, from + ".superseded");
      log::warning(str_cat("[run] ", from, " is marked as superseded: ", checkpoint_name(later),
                           ".superseded"));
    }
  }
}

void RunDirectory::update_links(const std::vector<ScoredCheckpoint>& scored,
                                const RunOptions& options,
                                const std::vector<int64_t>& also) const {
  const auto steps = checkpoint_steps(path_);
  if (steps.empty()) {
    return;
  }
  std::set<int64_t> kept(also.begin(), also.end());
  const auto newest =
      std::min<std::size_t>(steps.size(), static_cast<std::size_t>(options.keep_last));
  kept.insert(steps.end() - static_cast<std::ptrdiff_t>(newest), steps.end());
  replace_link(checkpoint_name(steps.back()), path_ + "/last");

  const auto best =
      std::min<std::size_t>(scored.size(), static_cast<std::size_t>(options.keep_best));
  for (std::size_t i = 0; i < best; ++i) {
    kept.insert(scored[i].step);
  }
  if (best > 0 && std::binary_search(steps.begin(), steps.end(), scored.front().step)) {
    replace_link(checkpoint_name(scored.front().step), path_ + "/best");
  } else {
    remove_quietly(path_ + "/best");
  }
  for (const auto step : steps) {
    if (!kept.contains(step)) {
      remove_checkpoint(path_ + "/" + checkpoint_name(step));
    }
  }
}

}  // namespace weft::train
