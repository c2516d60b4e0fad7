#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/string_util.h"
#include "report/sections/sections.h"
#include "train/run/run_record.h"

namespace weft::report {

namespace {

constexpr std::size_t kLogLines = 200;

std::string last_lines(const std::string& text, std::size_t count) {
  auto lines = split(text, '\n');
  const auto kept = std::min(count, lines.size());
  std::string last;
  for (auto line = lines.end() - static_cast<std::ptrdiff_t>(kept); line != lines.end(); ++line) {
    last += str_cat(*line, "\n");
  }
  return last;
}

}  // namespace

void add_setup(const ReportInput& input, Page& page) {
  for (const auto& [summary, history] : input.runs) {
    const auto& directory = summary.directory;
    page.heading(directory);
    page.add_details("Config", read_file(directory + "/config.yaml"));
    try {
      page.note(train::to_text(train::read_run_record(directory).machine));
    } catch (const UserError& error) {
      page.warning(str_cat("The environment is unknown: ", error.what()));
    }
    if (const auto log = directory + "/train.log"; std::filesystem::exists(log)) {
      page.add_details(str_cat("Last ", kLogLines, " lines of the log"),
                       last_lines(read_file(log), kLogLines));
    }
  }
}

}  // namespace weft::report
