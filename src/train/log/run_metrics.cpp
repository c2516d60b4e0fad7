#include "train/log/run_metrics.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;

/// Step of the checkpoint that `best` points to.
std::optional<int64_t> best_step(const std::string& directory) {
  std::error_code error;
  const auto target = fs::read_symlink(directory + "/best", error);
  if (error) {
    return std::nullopt;
  }
  for (const auto step : checkpoint_steps(directory)) {
    if (checkpoint_name(step) == target.filename().string()) {
      return step;
    }
  }
  return std::nullopt;
}

}  // namespace

RunMetrics read_run_metrics(const std::string& directory) {
  constexpr std::string_view kTag = "eval/";
  std::map<int64_t, Metrics> evaluations;
  const auto path = directory + "/metrics.jsonl";
  const auto lines = fs::exists(path) ? read_file(path) : std::string();
  for (const auto line : split(lines, '\n')) {
    const auto json = formats::Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step")) {
      continue;
    }
    for (const auto& [tag, value] : json.items()) {
      if (tag.starts_with(kTag) && value.is_number()) {
        evaluations[json["step"].get<int64_t>()]["eval_" + tag.substr(kTag.size())] =
            value.get<double>();
      }
    }
  }
  if (evaluations.empty()) {
    return {};
  }
  const auto step = best_step(directory);
  const auto found = step ? evaluations.find(*step) : evaluations.end();
  const auto& chosen = found != evaluations.end() ? *found : *evaluations.rbegin();
  return {.step = chosen.first, .metrics = chosen.second};
}

}  // namespace weft::train
