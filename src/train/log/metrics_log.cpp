#include "train/log/metrics_log.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/log.h"
#include "base/text.h"
#include "formats/json.h"

namespace weft::train {

namespace {

constexpr std::string_view kEvaluation = "eval/";  // begins its tags

bool is_of_evaluation(const formats::Json& line) {
  return std::any_of(line.items().begin(), line.items().end(),
                     [](const auto& item) { return item.key().starts_with(kEvaluation); });
}

// Whole lines up to the step. What comes after a later step, or after a torn line, belongs to a
// past that did not last.
std::string lines_until(const std::string& path, int64_t step, bool owes_evaluation) {
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
    if (owes_evaluation && json["step"].get<int64_t>() == step && is_of_evaluation(json)) {
      break;  // the process that measured it died before it was saved
    }
    end = line_end + 1;
  }
  return std::string(text.substr(0, end));
}

}  // namespace

MetricsLog::MetricsLog(const std::string& directory, int64_t step, bool owes_evaluation)
    : events_(directory, step, owes_evaluation ? kEvaluation : "") {
  const auto path = directory + "/metrics.jsonl";
  if (std::filesystem::exists(path)) {
    write_file(path, lines_until(path, step, owes_evaluation));
  }
  lines_ = std::make_unique<FileWriter>(path, FileWriter::Mode::kAppend);
}

void MetricsLog::write(int64_t step, const Figures& figures) {
  attempt([&] {
    formats::Json line;
    line["step"] = step;
    for (const auto& [tag, value] : figures) {
      if (std::isfinite(value)) {
        line[tag] = value;
      }
    }
    lines_->write(line.dump() + "\n");
    for (const auto& [tag, value] : figures) {
      if (std::isfinite(value)) {
        events_.scalar(tag, value, step);
      }
    }
    lines_->flush();
    events_.flush();
  });
}

void MetricsLog::sync() {
  attempt([&] {
    lines_->sync();
    events_.sync();
  });
}

// Figures that cannot be written must not end the run.
void MetricsLog::attempt(const std::function<void()>& work) {
  try {
    work();
    has_failed_ = false;
  } catch (const FileError& error) {
    if (!has_failed_) {
      log::error(text("[metrics] not written, kept for the next try: ", error.what()));
    }
    has_failed_ = true;
  }
}

}  // namespace weft::train
