#include "formats/word_vectors.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/string_util.h"
#include "formats/line_reader.h"

namespace weft::formats {

namespace {

constexpr int64_t kMostVectorDimensions = 65536;

/// Takes the last field of a line off; empty if the line has none.
std::string_view take_last_field(std::string_view& line) {
  const auto space = line.find_last_of(" \t");
  const auto field = line.substr(space == std::string_view::npos ? 0 : space + 1);
  line = line.substr(0, space == std::string_view::npos ? 0 : space);
  return field;
}

template <class Number>
std::optional<Number> parsed(std::string_view field) {
  Number value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_number = error == std::errc() && end == field.data() + field.size();
  return is_number ? std::optional(value) : std::nullopt;
}

/// Dimensions in a line `words dimensions`; nullopt: not such a line.
std::optional<int64_t> header_dimensions(std::string_view line) {
  const auto dimensions = parsed<int64_t>(take_last_field(line));
  const auto words = parsed<int64_t>(line);
  return words && dimensions ? dimensions : std::nullopt;
}

}  // namespace

int64_t read_word_vectors(
    const std::string& path,
    const std::function<bool(std::string_view word, std::span<const float> vector)>& visit) {
  LineReader reader(path);
  const auto fail = [&](const std::string& message) {
    throw Error(str_cat(reader.location(), ": ", message));
  };
  std::vector<float> vector;
  for (std::string_view line; reader.next(line);) {
    while (line.ends_with(' ') || line.ends_with('\t')) {
      line.remove_suffix(1);
    }
    if (reader.number() == 1) {
      const auto stated = header_dimensions(line);
      const auto fields = split(line, ' ').size();
      if (const auto found = stated.value_or(static_cast<int64_t>(fields) - 1);
          found < 1 || found > kMostVectorDimensions) {
        fail(str_cat("not word vectors: found ", quoted_text(line),
                     ", must be `words dimensions` or a word and its vector"));
      } else {
        vector.resize(static_cast<std::size_t>(found));
      }
      if (stated) {
        continue;
      }
    }
    auto word = line;
    for (auto i = vector.size(); i-- > 0;) {
      const auto field = take_last_field(word);
      const auto value = parsed<float>(field);
      if (!value || !std::isfinite(*value)) {
        fail(str_cat("found '", printable(field.substr(0, 40)), "' as value ", i + 1,
                     " of the vector, must be one of ", vector.size(), " finite numbers"));
      }
      vector[i] = *value;
    }
    if (word.empty()) {
      fail(str_cat("has no word before the ", vector.size(), " values of its vector"));
    }
    if (!visit(word, vector)) {
      break;
    }
  }
  if (vector.empty()) {
    throw Error(path + ": has no word vectors");
  }
  return static_cast<int64_t>(vector.size());
}

}  // namespace weft::formats
