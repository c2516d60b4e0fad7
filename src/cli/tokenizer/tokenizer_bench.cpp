#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>

#include "base/file.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/command.h"
#include "cli/tokenizer/tokenizer.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "formats/line_reader.h"

namespace weft::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct BenchLines {
  std::vector<std::string> texts;
  int64_t bytes = 0;  // including line feeds
};

BenchLines read_lines(const std::string& pattern) {
  BenchLines lines;
  const auto files = glob_paths(pattern);
  if (files.empty()) {
    throw UserError(str_cat("weft tokenizer bench: --input: '", pattern, "' matches no file"));
  }
  for (const std::string& file : files) {
    formats::LineReader reader(file);
    for (std::string_view line; reader.next(line);) {
      throw_if_stopped("reading the texts");
      lines.texts.emplace_back(line);
      lines.bytes += static_cast<int64_t>(line.size()) + 1;
    }
  }
  return lines;
}

/// One pass over all lines, ids only.
int64_t count_tokens(const data::Tokenizer& tokenizer, const BenchLines& lines) {
  std::vector<int32_t> ids;
  int64_t tokens = 0;
  for (const std::string& line : lines.texts) {
    ids.clear();
    tokenizer.encode(line, ids);
    tokens += static_cast<int64_t>(ids.size());
  }
  return tokens;
}

}  // namespace

int run_tokenizer_bench(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft tokenizer bench --model MODEL --input FILE [--seconds S]",
       .description =
           "Measures how fast one thread encodes the lines of text files and prints one JSON "
           "object: the fastest of as many passes as the time allows, without reading and writing. "
           "scripts/bench compares it with other libraries.",
       .examples = {"weft tokenizer bench --model runs/bert-mini/last --input 'corpus/*.txt'"}},
      0, 0);
  arguments.value("model", "MODEL", "Tokenizer or model directory, or a tokenizer file")
      .value("input", "FILE", "Text files as a glob pattern, optionally compressed (.gz, .zst)")
      .value("seconds", "S", "Time limit in seconds: no pass starts after it (default: 2)");
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (!arguments.has("input")) {
    throw UsageError("weft tokenizer bench: --input FILE is required");
  }
  const auto tokenizer = data::load_tokenizer(required_model(arguments, "bench"));
  const std::chrono::duration<double> allowed(arguments.number("seconds", 2, 0, 3600));
  const BenchLines lines = read_lines(arguments.get("input"));
  int64_t tokens = 0;
  double quickest = std::numeric_limits<double>::infinity();
  const auto begin = Clock::now();
  do {
    throw_if_stopped("tokenising");
    const auto before = Clock::now();
    tokens = count_tokens(*tokenizer, lines);
    quickest = std::min(quickest, std::chrono::duration<double>(Clock::now() - before).count());
  } while (Clock::now() - begin < allowed);
  quickest = std::max(quickest, 1e-9);  // of an empty file
  const formats::Json metrics = {{"lines", lines.texts.size()},
                                 {"bytes", lines.bytes},
                                 {"tokens", tokens},
                                 {"seconds", quickest},
                                 {"tokens_per_s", static_cast<double>(tokens) / quickest},
                                 {"bytes_per_s", static_cast<double>(lines.bytes) / quickest}};
  std::cout << metrics.dump() << "\n";
  return 0;
}

}  // namespace weft::cli
