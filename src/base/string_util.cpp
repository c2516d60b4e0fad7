#include "base/string_util.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iomanip>

#include "base/utf8.h"

namespace weft {

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions, transpositions.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::array<std::vector<std::size_t>, 3> rows;
  rows.fill(std::vector<std::size_t>(b.size() + 1));
  for (std::size_t j = 0; j <= b.size(); ++j) {
    rows[0][j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string format_number(const char* format, double value) {
  std::array<char, 64> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), format, value);
  return {buffer.data(), static_cast<std::size_t>(std::clamp(length, 0, 63))};
}

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string result;
  for (const auto& word : words) {
    if (&word != &words.front()) {
      result += separator;
    }
    result += word;
  }
  return result;
}

std::string join_alternatives(std::vector<std::string> words) {
  if (words.size() < 2) {
    return join(words);
  }
  const auto last = words.back();
  words.pop_back();
  return join(words) + " or " + last;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

void split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  constexpr std::string_view kBlanks = " \t";
  fields.clear();
  for (auto begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(kBlanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string fold_name(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    } else if (letter == '-') {
      letter = '_';
    }
  }
  return result;
}

std::string with_commas(int64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) {
      result += ',';
    }
    result += digits[i];
  }
  return result;
}

std::string counted(int64_t number, std::string_view noun) {
  return str_cat(with_commas(number), " ", noun, number == 1 ? "" : "s");
}

std::string_view was_or_were(int64_t number) { return number == 1 ? "was" : "were"; }

std::string format_percent(int64_t part, int64_t whole) {
  const double share =
      whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return str_cat(std::fixed, std::setprecision(share > 0 && share < 0.1 ? 4 : 2), share, " %");
}

double round_to_digits(double value, int digits) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return std::strtod(text.data(), nullptr);
}

std::string shortest_repr(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return format_number(unit == 0 ? "%.0f " : "%.1f ", bytes) + kUnits[unit];
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || std::abs(seconds) > 1e12) {
    return "unknown";
  }
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) {
    return str_cat(whole, " s");
  }
  const auto two_digits = [](int64_t part) {
    return (part < 10 ? "0" : "") + std::to_string(part);
  };
  if (whole < 3600) {
    return str_cat(whole / 60, " min ", two_digits(whole % 60), " s");
  }
  return str_cat(whole / 3600, " h ", two_digits(whole / 60 % 60), " min");
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMaxLength = 100;  // longer input is never a misspelled word
  const std::string sought = fold_name(word.substr(0, kMaxLength));
  std::string found;
  std::size_t least = std::string::npos;
  for (const auto& candidate : candidates) {
    const std::string known = fold_name(candidate);
    std::size_t distance = edit_distance(sought, known);
    const auto& [shorter, longer] = std::minmax(
        sought, known, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::size_t allowed = std::max<std::size_t>(1, longer.size() / 3);
    const bool is_part = shorter.size() >= 3 && longer.find(shorter) != std::string::npos;
    if (distance > allowed && is_part) {
      distance = 1000 + distance;  // used only if nothing else is close
    } else if (distance > allowed || distance >= longer.size()) {
      continue;
    }
    if (distance < least) {
      least = distance;
      found = candidate;
    }
  }
  return found;
}

std::string format_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string lines;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      lines += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    lines += "\n";
  }
  return lines;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 60;
  std::size_t end = std::min(text.size(), kMaxBytes);
  while (end < text.size() && end > kMaxBytes - 4 && (text[end] & 0xC0) == 0x80) {
    --end;  // do not split a character
  }
  std::string shown = utf8::replace_invalid(text.substr(0, end));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      c = '?';
    }
  }
  return end < text.size() ? shown + "..." : shown;
}

std::string quoted_text(std::string_view text) { return "'" + printable(text) + "'"; }

std::string quoted_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxShown = 12;
  std::vector<std::string> shown;
  for (std::size_t index = 0; index < std::min(names.size(), kMaxShown); ++index) {
    shown.push_back(quoted_text(names[index]));
  }
  if (names.size() > kMaxShown) {
    shown.push_back(str_cat("and ", names.size() - kMaxShown, " more"));
  }
  return join(shown);
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    std::size_t characters = 0;
    for (; characters < 4 && text[at + characters] != '='; ++characters) {
      const std::size_t digit = kAlphabet.find(text[at + characters]);
      if (digit == std::string_view::npos) {
        return std::nullopt;
      }
      group |= static_cast<uint32_t>(digit) << (18 - 6 * characters);
    }
    const bool is_padded = characters < 4;
    const bool is_valid =
        characters >= 2 && (!is_padded || (at + 4 == text.size() && text[at + 3] == '='));
    if (!is_valid) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i + 1 < characters; ++i) {
      bytes.push_back(static_cast<char>((group >> (16 - 8 * i)) & 0xFFU));
    }
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (std::size_t i = 0; i < count; ++i) {
      group |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (16 - 8 * i);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kAlphabet[(group >> (18 - 6 * i)) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace weft
