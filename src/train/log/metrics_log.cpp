#include "train/log/metrics_log.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/log.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::train {

namespace {

constexpr std::string_view kMetricPrefix = "eval_";  // prefix of metrics of evaluations
constexpr std::string_view kTagPrefix = "eval/";     // of their tags

bool is_evaluation_line(const formats::Json& line) {
  return std::any_of(line.items().begin(), line.items().end(),
                     [](const auto& item) { return item.key().starts_with(kTagPrefix); });
}

// Complete lines up to the step. Later steps, and lines after an incomplete one, were never saved.
std::string lines_until(const std::string& path, int64_t step, bool pending_evaluation) {
  const MappedFile file(path);
  const auto text = file.text();
  std::size_t end = 0;
  while (end < text.size()) {
    const auto line_end = text.find('\n', end);
    if (line_end == std::string_view::npos) {
      break;
    }
    const auto json = formats::Json::parse(text.substr(end, line_end - end), nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() ||
        json["step"].get<int64_t>() > step) {
      break;
    }
    if (pending_evaluation && json["step"].get<int64_t>() == step && is_evaluation_line(json)) {
      break;  // the process that measured it ended before saving it
    }
    end = line_end + 1;
  }
  return std::string(text.substr(0, end));
}

/// Step of the checkpoint that `best` points to.
std::optional<int64_t> best_step(const std::string& directory) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(directory + "/best", error);
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

std::string evaluation_tag(std::string_view metric) {
  return str_cat(kTagPrefix,
                 metric.starts_with(kMetricPrefix) ? metric.substr(kMetricPrefix.size()) : metric);
}

std::optional<std::string> evaluation_metric(std::string_view tag) {
  return tag.starts_with(kTagPrefix)
             ? std::optional(str_cat(kMetricPrefix, tag.substr(kTagPrefix.size())))
             : std::nullopt;
}

MetricsLog::MetricsLog(const std::string& directory, int64_t step, bool pending_evaluation)
    : events_(directory, step, pending_evaluation ? kTagPrefix : "") {
  const auto path = directory + "/metrics.jsonl";
  if (std::filesystem::exists(path)) {
    write_file(path, lines_until(path, step, pending_evaluation));
  }
  lines_ = std::make_unique<FileWriter>(path, FileWriter::Mode::kAppend);
}

void MetricsLog::write(int64_t step, const Metrics& metrics) {
  attempt([&] {
    formats::Json line;
    line["step"] = step;
    for (const auto& [tag, value] : metrics) {
      if (std::isfinite(value)) {
        line[tag] = value;
      }
    }
    lines_->write(line.dump() + "\n");
    for (const auto& [tag, value] : metrics) {
      if (std::isfinite(value)) {
        events_.scalar(tag, value, step);
      }
    }
    lines_->flush();
    events_.flush();
  });
}

void MetricsLog::write_values(int64_t step, const std::vector<std::string>& values) {
  attempt([&] {
    for (const auto& value : values) {
      events_.write(value, step);
    }
    events_.flush();
  });
}

void MetricsLog::sync() {
  attempt([&] {
    lines_->sync();
    events_.sync();
  });
}

// A failure to write metrics must not end the run.
void MetricsLog::attempt(const std::function<void()>& work) {
  try {
    work();
    has_failed_ = false;
  } catch (const FileError& error) {
    if (!has_failed_) {
      log::error(str_cat("[metrics] not written, kept for the next attempt: ", error.what()));
    }
    has_failed_ = true;
  }
}

RunMetrics read_run_metrics(const std::string& directory) {
  std::map<int64_t, Metrics> evaluations;
  const auto path = directory + "/metrics.jsonl";
  const auto lines = std::filesystem::exists(path) ? read_file(path) : std::string();
  for (const auto line : split(lines, '\n')) {
    const auto json = formats::Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step")) {
      continue;
    }
    for (const auto& [tag, value] : json.items()) {
      if (const auto metric = evaluation_metric(tag); metric && value.is_number()) {
        evaluations[json["step"].get<int64_t>()][*metric] = value.get<double>();
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
