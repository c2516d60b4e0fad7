#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/file.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "cli/tokenizer/tokenizer.h"
#include "formats/json.h"

namespace weft::cli {

namespace {

constexpr std::size_t kTokenLineBlock = std::size_t{1} << 20;
constexpr std::size_t kMaxLineLength = std::size_t{1} << 28;
constexpr int64_t kLinesPerTask = 64;  // lines per task of a thread

std::string location_of(int64_t line) { return str_cat("standard input:", line); }

/// Reads standard input as it arrives and returns the complete lines of each block, without their
/// line feeds.
class BlockReader {
 public:
  /// Returns false at the end.
  bool next(std::vector<std::string_view>& lines) {
    lines.clear();
    buffer_.erase(0, used_);
    used_ = 0;
    std::size_t end = std::string::npos;
    while (end == std::string::npos && fill()) {
      end = buffer_.find_last_of('\n');
      if (end == std::string::npos && buffer_.size() > kMaxLineLength) {
        throw UserError(
            str_cat(location_of(number_), ": the line is longer than ", kMaxLineLength, " bytes"));
      }
    }
    used_ = end == std::string::npos ? buffer_.size() : end + 1;
    std::string_view rest = std::string_view(buffer_).substr(0, used_);
    while (!rest.empty()) {
      const std::size_t line = rest.find('\n');
      lines.push_back(rest.substr(0, line));
      rest.remove_prefix(line == std::string_view::npos ? rest.size() : line + 1);
    }
    first_ = number_;
    number_ += static_cast<int64_t>(lines.size());
    return !lines.empty();
  }

  /// Number of the block's first line, from 1.
  int64_t first() const { return first_; }

 private:
  bool fill() {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kTokenLineBlock);
    ssize_t count = -1;
    do {
      throw_if_stopped("reading standard input");
      count = ::read(STDIN_FILENO, buffer_.data() + before, kTokenLineBlock);
    } while (count < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) {
      throw UserError(str_cat("standard input: cannot read: ", std::strerror(errno)));
    }
    return count > 0;
  }

  std::string buffer_;
  std::size_t used_ = 0;
  int64_t number_ = 1;
  int64_t first_ = 1;
};

void write_out(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    throw UserError(str_cat("standard output: cannot write: ", std::strerror(errno)));
  }
}

using WriteLine = std::function<void(std::string_view line, int64_t number, std::string& out)>;

/// Calls `write_line` for every line, in groups on all cores, and writes the results in order.
void for_each_line(const WriteLine& write_line) {
  BlockReader reader;
  std::vector<std::string_view> lines;
  std::vector<std::string> made;
  while (reader.next(lines)) {
    const auto count = static_cast<int64_t>(lines.size());
    const int64_t groups = (count + kLinesPerTask - 1) / kLinesPerTask;
    made.assign(static_cast<std::size_t>(groups), {});
    parallel_for(groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        std::string& out = made[static_cast<std::size_t>(group)];
        for (int64_t i = group * kLinesPerTask; i < std::min(count, (group + 1) * kLinesPerTask);
             ++i) {
          write_line(lines[static_cast<std::size_t>(i)], reader.first() + i, out);
        }
      }
    });
    for (const std::string& out : made) {
      write_out(out);
    }
    if (std::fflush(stdout) != 0) {
      throw UserError(str_cat("standard output: cannot write: ", std::strerror(errno)));
    }
  }
}

void append_number(std::string& out, int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Items, class Append>
void append_list(std::string& out, const Items& items, const Append& append) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      out += ", ";
    }
    append(out, items[i]);
  }
  out += ']';
}

void check_utf8(std::string_view line, int64_t number) {
  if (const auto bad = utf8::first_invalid(line)) {
    throw UserError(str_cat(location_of(number), ": byte ", *bad + 1, " is not UTF-8"));
  }
}

class LineEncoder {
 public:
  LineEncoder(const data::Tokenizer& tokenizer, const EncodeSettings& settings)
      : tokenizer_(tokenizer), settings_(settings) {
    for (int64_t id = 0; id < tokenizer.size(); ++id) {
      quoted_.push_back(formats::Json(tokenizer.piece(static_cast<int32_t>(id))).dump());
    }
  }

  void write(std::string_view line, int64_t number, std::string& out) const {
    check_utf8(line, number);
    const std::size_t tab = settings_.are_pairs ? line.find('\t') : std::string_view::npos;
    if (settings_.are_pairs && tab == std::string_view::npos) {
      throw UserError(
          str_cat(location_of(number), ": no tab, must be two texts separated by a tab"));
    }
    std::vector<data::Token> spans;
    const auto ids_of = [&](std::string_view part) {
      std::vector<int32_t> ids;
      if (!settings_.has_offsets) {
        tokenizer_.encode(part, ids);
        return ids;
      }
      for (const data::Token& token : tokenizer_.tokens(part)) {
        ids.push_back(token.id);
        spans.push_back(token);
      }
      return ids;
    };
    const std::vector<int32_t> first = ids_of(line.substr(0, tab));
    data::Sequence sequence;
    if (settings_.are_pairs) {
      const std::vector<int32_t> second = ids_of(line.substr(tab + 1));
      sequence =
          settings_.adds_special ? tokenizer_.sequence(first, second) : joined(first, second);
    } else {
      sequence = settings_.adds_special ? tokenizer_.sequence(first) : joined(first, {});
    }
    append(sequence, spans, out);
  }

 private:
  static data::Sequence joined(std::vector<int32_t> first, const std::vector<int32_t>& second) {
    first.insert(first.end(), second.begin(), second.end());
    const std::size_t count = first.size();
    return {.ids = std::move(first),
            .token_type_ids = {},
            .is_special = std::vector<uint8_t>(count, 0)};
  }

  void append(const data::Sequence& sequence,
              const std::vector<data::Token>& spans,
              std::string& out) const {
    out += "{\"ids\": ";
    append_list(out, sequence.ids, [](std::string& to, int32_t id) { append_number(to, id); });
    out += ", \"tokens\": ";
    append_list(out, sequence.ids,
                [&](std::string& to, int32_t id) { to += quoted_[static_cast<std::size_t>(id)]; });
    if (settings_.has_offsets) {
      std::size_t next = 0;
      out += ", \"offsets\": ";
      append_list(out, sequence.is_special, [&](std::string& to, uint8_t is_special) {
        const data::Token span = is_special != 0 ? data::Token{} : spans[next++];
        to += '[';
        append_number(to, span.begin);
        to += ", ";
        append_number(to, span.end);
        to += ']';
      });
    }
    out += "}\n";
  }

  const data::Tokenizer& tokenizer_;
  EncodeSettings settings_;
  std::vector<std::string> quoted_;  // pieces as JSON strings, by id
};

std::vector<int32_t> ids_of_line(std::string_view line, int64_t number) {
  const std::string location = location_of(number);
  const formats::Json json = formats::parse_json(line, location);
  const auto found = json.is_object() ? json.find("ids") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_array()) {
    throw UserError(location + ": no \"ids\", expected a line like {\"ids\": [1, 2]}");
  }
  std::vector<int32_t> ids;
  for (const formats::Json& id : *found) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > 0x7FFFFFFFU) {
      throw UserError(location + ": ids must be integers of at least 0");
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

}  // namespace

void encode_lines(const data::Tokenizer& tokenizer, const EncodeSettings& settings) {
  const LineEncoder encoder(tokenizer, settings);
  for_each_line([&](std::string_view line, int64_t number, std::string& out) {
    encoder.write(line, number, out);
  });
}

void decode_lines(const data::Tokenizer& tokenizer) {
  for_each_line([&](std::string_view line, int64_t number, std::string& out) {
    std::string made = tokenizer.decode(ids_of_line(line, number));
    // One output line per input line, whatever the tokens contain.
    std::replace(made.begin(), made.end(), '\n', ' ');
    out += made;
    out += '\n';
  });
}

std::string required_model(const Arguments& arguments, const std::string& command) {
  if (!arguments.has("model")) {
    throw UsageError(str_cat("weft tokenizer ", command, ": --model MODEL is required"));
  }
  return arguments.get("model");
}

}  // namespace weft::cli
