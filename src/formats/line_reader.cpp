#include "formats/line_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/string_util.h"
#include "formats/byte_source.h"

namespace weft::formats {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct MagicBytes {
  std::string_view bytes;
  std::string_view meaning;
};

/// Binary formats that are read if the file's name has their extension.
struct FormatByExtension {
  std::string_view bytes;
  std::string_view meaning;
  std::string_view extension;
};
constexpr std::array kFormatsByExtension = {
    FormatByExtension{"\x1F\x8B", "gzip data", ".gz"},
    FormatByExtension{"\x28\xB5\x2F\xFD", "zstd data", ".zst"},
    FormatByExtension{"PAR1", "Parquet data", ".parquet"},
};

/// First bytes of binary formats in which texts are often stored.
constexpr std::array kBinaryFormats = {
    MagicBytes{"PAR1", "Parquet data"},
    MagicBytes{"ARROW1", "Arrow data"},
    MagicBytes{"PK\x03\x04", "a zip archive"},
    MagicBytes{"\xFD\x37zXZ", "xz data"},
    MagicBytes{"\x42\x5A\x68\x39\x31\x41\x59", "bzip2 data"},
    MagicBytes{"\x89HDF", "HDF5 data"},
    MagicBytes{"SQLite format 3", "an SQLite database"},
    MagicBytes{"%PDF-", "a PDF document"},
    MagicBytes{"{\\rtf", "an RTF document"},
    MagicBytes{"\xD0\xCF\x11\xE0", "an old Office document"},
    MagicBytes{"\x89PNG", "a PNG image"},
    MagicBytes{"\xFF\xD8\xFF", "a JPEG image"},
    MagicBytes{"GIF89a", "a GIF image"},
    MagicBytes{"GIF87a", "a GIF image"},
};
constexpr std::size_t kMaxMagicSize =
    std::ranges::max(kBinaryFormats, {}, [](const MagicBytes& mark) {
      return mark.bytes.size();
    }).bytes.size();

/// Returns where to split a line that is too long: after white space in its second half, else
/// between two characters.
std::size_t split_point(std::string_view piece) {
  const auto space = piece.find_last_of(" \t");
  if (space != std::string_view::npos && space >= piece.size() / 2) {
    return space + 1;
  }
  std::size_t end = piece.size();
  while (end > 1 && end + 4 > piece.size() && (piece[end - 1] & 0xC0) == 0x80) {
    --end;  // to the first byte of the last character
  }
  return end > 1 ? end - 1 : piece.size();
}

}  // namespace

struct LineReader::State {
  State(const std::string& path, const LineOptions& settings)
      : name(path == "-" ? "standard input" : path), options(settings), source(open_bytes(path)) {}

  /// Appends more bytes to the buffer; false at the end of the file.
  bool fill();
  bool next(std::string_view& line);

  std::string name;
  LineOptions options;
  std::unique_ptr<ByteSource> source;
  std::vector<char> buffer;
  std::size_t begin = 0;  // start of the data not yet returned by `next`
  std::size_t end = 0;
  std::size_t received = 0;  // bytes so far, decompressed
  int64_t number = 0;
  bool continues = false;
  bool is_first_block = true;
  bool is_at_end = false;
};

bool LineReader::State::fill() {
  if (is_at_end) {
    return false;
  }
  std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(begin),
            buffer.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin());
  end -= begin;
  begin = 0;
  if (buffer.size() < end + kBlock) {
    buffer.resize(std::max(2 * buffer.size(), end + kBlock));
  }
  const std::size_t count = source->read(buffer.data() + end, kBlock);
  end += count;
  received += count;
  is_at_end = count == 0;
  return !is_at_end;
}

bool LineReader::State::next(std::string_view& line) {
  if (is_first_block) {
    is_first_block = false;
    // No magic number contains a line feed, so stop at one: the first line of a pipe must not wait.
    const auto held = [&] { return std::string_view(buffer.data(), end); };
    while (end < kMaxMagicSize && held().find('\n') == std::string_view::npos && fill()) {
    }
    const std::string_view first = held();
    for (const auto& mark : kFormatsByExtension) {
      if (first.starts_with(mark.bytes) && !name.ends_with(mark.extension)) {
        throw Error(str_cat(name, ": ", mark.meaning, ", allowed only in files whose names end in ",
                            mark.extension));
      }
    }
    for (const auto& mark : kBinaryFormats) {
      if (first.starts_with(mark.bytes)) {
        throw Error(str_cat(
            name, ": ", mark.meaning,
            ", allowed is text: lines, csv, tsv or jsonl, optionally compressed (.gz, .zst)"));
      }
    }
    if (first.starts_with("\xFF\xFE") || first.starts_with("\xFE\xFF")) {
      throw Error(name + ": UTF-16 text, must be UTF-8");
    }
    if (first.starts_with(kByteOrderMark)) {
      begin = kByteOrderMark.size();
    }
  }
  number += continues ? 0 : 1;
  continues = false;
  const auto max_line_bytes = static_cast<std::size_t>(options.max_line_bytes);
  std::size_t searched = 0;
  for (;;) {
    const char* const held = buffer.data() + begin;
    const auto* const feed = static_cast<const char*>(
        end - begin == searched ? nullptr
                                : std::memchr(held + searched, '\n', end - begin - searched));
    const std::size_t length =
        feed != nullptr ? static_cast<std::size_t>(feed - held) : end - begin;
    if (length > max_line_bytes) {
      if (!options.splits_long) {
        throw Error(
            str_cat(name, ":", number, ": a line longer than ", options.max_line_bytes, " bytes"));
      }
      line = std::string_view(held, split_point({held, max_line_bytes}));
      begin += line.size();
      continues = true;
      return true;
    }
    if (feed != nullptr || (!fill() && begin < end)) {
      line = std::string_view(buffer.data() + begin, length);
      begin += length + (feed != nullptr ? 1 : 0);
      if (feed != nullptr && !options.keeps_carriage_returns && line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      return true;
    }
    if (is_at_end) {
      --number;
      return false;
    }
    searched = length;
  }
}

LineReader::LineReader(const std::string& path, int64_t max_line_bytes)
    : LineReader(path, LineOptions{.max_line_bytes = max_line_bytes}) {}

LineReader::LineReader(const std::string& path, const LineOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

bool LineReader::next(std::string_view& line) {
  try {
    return state_->next(line);
  } catch (const Error&) {
    state_->is_at_end = true;
    state_->begin = state_->end;
    throw;
  }
}

bool LineReader::continues() const { return state_->continues; }

bool LineReader::has_input() const {
  return state_->begin < state_->end || state_->is_at_end || state_->source->is_ready();
}

int64_t LineReader::number() const { return state_->number; }

std::string LineReader::location() const { return str_cat(state_->name, ":", state_->number); }

int64_t LineReader::consumed() const {
  const auto& state = *state_;
  const auto consumed = state.source->consumed();
  if (state.received == 0) {
    return consumed;
  }
  const auto returned = state.received - (state.end - state.begin);
  return static_cast<int64_t>(static_cast<double>(consumed) * static_cast<double>(returned) /
                              static_cast<double>(state.received));
}

int64_t LineReader::total() const { return state_->source->total(); }

double LineReader::fraction_read() const {
  return total() > 0 ? static_cast<double>(consumed()) / static_cast<double>(total()) : -1;
}

}  // namespace weft::formats
