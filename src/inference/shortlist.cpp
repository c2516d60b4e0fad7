#include "inference/shortlist.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/string_util.h"
#include "config/section.h"
#include "data/labels.h"
#include "formats/error.h"
#include "formats/line_reader.h"

namespace weft::inference {

namespace {

constexpr std::string_view kNull = "NULL";  // the empty word of alignment models

struct ShortlistLine {
  int64_t source;
  int64_t target;
  double probability;
};

int64_t piece_id(const formats::LineReader& lines,
                 std::string_view side,
                 std::string_view piece,
                 const data::Tokenizer& tokenizer) {
  if (const auto id = tokenizer.id(piece)) {
    return *id;
  }
  throw formats::Error(str_cat(lines.location(), ": ", side, " ", quoted_text(piece),
                               " is not one of the ", with_commas(tokenizer.size()),
                               " pieces of the model's tokenizer, which the table must consist of "
                               "(`weft data shortlist` makes one)"));
}

/// nullopt: a line to skip.
std::optional<ShortlistLine> parse_line(const formats::LineReader& lines,
                                        std::string_view line,
                                        const data::Tokenizer& tokenizer) {
  std::vector<std::string_view> fields;
  split_fields(line, fields);
  const auto probability = fields.size() == 3 ? data::parse_number(fields[2]) : std::nullopt;
  if (!probability || !(*probability >= 0 && *probability <= 1)) {
    throw formats::Error(str_cat(lines.location(), ": ", quoted_text(line),
                                 ", must be TARGET SOURCE PROBABILITY, with a probability in "
                                 "[0, 1]"));
  }
  const auto is_null = [](std::string_view piece, const data::Tokenizer& side) {
    return piece == kNull && !side.id(piece);
  };
  if (is_null(fields[0], tokenizer.target()) || is_null(fields[1], tokenizer)) {
    return std::nullopt;
  }
  return ShortlistLine{.source = piece_id(lines, "source", fields[1], tokenizer),
                       .target = piece_id(lines, "target", fields[0], tokenizer.target()),
                       .probability = *probability};
}

std::vector<ShortlistLine> read_lines(const std::string& path, const data::Tokenizer& tokenizer) {
  std::vector<ShortlistLine> result;
  formats::LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
    if (const auto parsed = parse_line(lines, line, tokenizer)) {
      result.push_back(*parsed);
    }
  }
  if (result.empty()) {
    throw formats::Error(path + ": has no translations, must have lines TARGET SOURCE PROBABILITY");
  }
  return result;
}

void sort_unique(models::Tokens& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

}  // namespace

ShortlistOptions read_shortlist_options(const std::string& text, const std::string& place) {
  ShortlistOptions options;
  if (!text.starts_with('{')) {
    options.file = text;
    return options;
  }
  auto section = config::Document::parse(text, place).root();
  section.read("file", options.file,
               {.help = "Lines TARGET SOURCE PROBABILITY.", .is_required = true});
  section.read("first", options.first,
               {.help = "Target tokens with the lowest ids that every text may contain.",
                .range = config::at_least(0)});
  section.read(
      "best", options.best,
      {.help = "Most likely translations of each source token.", .range = config::at_least(1)});
  section.reject_unread();
  return options;
}

Shortlist::Shortlist(const ShortlistOptions& options,
                     const data::Tokenizer& tokenizer,
                     models::Tokens required)
    : translations_(static_cast<std::size_t>(tokenizer.size())),
      always_(std::move(required)),
      copies_source_(!tokenizer.has_separate_vocabularies()) {
  auto lines = read_lines(options.file, tokenizer);
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return std::tie(a.source, b.probability, a.target) <
           std::tie(b.source, a.probability, b.target);
  });
  for (const auto& line : lines) {
    auto& own = translations_[static_cast<std::size_t>(line.source)];
    if (static_cast<int64_t>(own.size()) < options.best && line.probability > 0) {
      own.push_back(line.target);
    }
  }
  const auto& target = tokenizer.target();
  int64_t first = 0;
  for (int32_t id = 0; id < target.size(); ++id) {
    const bool is_special = target.is_special(id);
    if (is_special || first < options.first) {
      always_.push_back(id);
      first += is_special ? 0 : 1;
    }
  }
}

models::Tokens Shortlist::tokens(const models::Tokens& source) const {
  auto sources = source;
  sort_unique(sources);
  auto result = always_;
  for (const auto id : sources) {
    if (id < 0 || id >= static_cast<int64_t>(translations_.size())) {
      continue;  // of a prompt given as ids
    }
    const auto& own = translations_[static_cast<std::size_t>(id)];
    result.insert(result.end(), own.begin(), own.end());
    if (copies_source_) {
      result.push_back(id);
    }
  }
  sort_unique(result);
  return result;
}

}  // namespace weft::inference
