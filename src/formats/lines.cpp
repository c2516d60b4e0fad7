#include "formats/lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "formats/byte_source.h"

namespace weft::formats {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::string_view kGzipMark = "\x1F\x8B";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Mark {
  std::string_view bytes;
  std::string_view meaning;
};

/// How files begin that are no text, though people have texts in them.
constexpr std::array kForeign = {
    Mark{"PAR1", "Parquet data"},        Mark{"ARROW1", "Arrow data"},
    Mark{"PK\x03\x04", "a zip archive"}, Mark{"\x28\xB5\x2F\xFD", "zstd data"},
    Mark{"\xFD\x37zXZ", "xz data"},      Mark{"\x42\x5A\x68\x39\x31\x41\x59", "bzip2 data"},
    Mark{"\x89HDF", "HDF5 data"},        Mark{"SQLite format 3", "an SQLite database"},
    Mark{"%PDF-", "a PDF document"},     Mark{"{\\rtf", "an RTF document"},
};
constexpr std::size_t kLongestMark =
    std::ranges::max(kForeign, {}, [](const Mark& mark) { return mark.bytes.size(); }).bytes.size();

/// Where to cut a piece off a line that is too long: behind white space in its second half, else
/// between two characters.
std::size_t cut_place(std::string_view piece) {
  const auto space = piece.find_last_of(" \t");
  if (space != std::string_view::npos && space >= piece.size() / 2) {
    return space + 1;
  }
  std::size_t end = piece.size();
  while (end > 1 && end + 4 > piece.size() && (piece[end - 1] & 0xC0) == 0x80) {
    --end;  // to the byte that begins the last character
  }
  return end > 1 ? end - 1 : piece.size();
}

}  // namespace

struct LineReader::State {
  State(const std::string& path, const LineOptions& settings)
      : name(path == "-" ? "standard input" : path), options(settings), source(open_bytes(path)) {}

  /// Reads more bytes behind those that are held; false at the end of the file.
  bool fill();
  bool next(std::string_view& line);

  std::string name;
  LineOptions options;
  std::unique_ptr<ByteSource> source;
  std::vector<char> buffer;
  std::size_t begin = 0;  // of what `next` has not given yet
  std::size_t end = 0;
  int64_t number = 0;
  bool goes_on = false;
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
  is_at_end = count == 0;
  return !is_at_end;
}

bool LineReader::State::next(std::string_view& line) {
  if (is_first_block) {
    is_first_block = false;
    // No mark has a line feed: of a pipe, the first line is not kept waiting for more.
    const auto held = [&] { return std::string_view(buffer.data(), end); };
    while (end < kLongestMark && held().find('\n') == std::string_view::npos && fill()) {
    }
    const std::string_view first = held();
    if (first.starts_with(kGzipMark) && !name.ends_with(".gz")) {
      throw Error(name + ": gzip data, allowed in files whose names end in .gz");
    }
    for (const auto& mark : kForeign) {
      if (first.starts_with(mark.bytes)) {
        throw Error(text(name, ": ", mark.meaning,
                         ", allowed is text: lines, csv, tsv or jsonl, also packed as .gz"));
      }
    }
    if (first.starts_with("\xFF\xFE") || first.starts_with("\xFE\xFF")) {
      throw Error(name + ": text in UTF-16, allowed is UTF-8");
    }
    if (first.starts_with(kByteOrderMark)) {
      begin = kByteOrderMark.size();
    }
  }
  number += goes_on ? 0 : 1;
  goes_on = false;
  const auto longest = static_cast<std::size_t>(options.longest);
  std::size_t searched = 0;
  for (;;) {
    const char* const held = buffer.data() + begin;
    const auto* const feed = static_cast<const char*>(
        end - begin == searched ? nullptr
                                : std::memchr(held + searched, '\n', end - begin - searched));
    const std::size_t length =
        feed != nullptr ? static_cast<std::size_t>(feed - held) : end - begin;
    if (length > longest) {
      if (!options.splits_long) {
        throw Error(text(name, ":", number, ": a line longer than ", options.longest, " bytes"));
      }
      line = std::string_view(held, cut_place({held, longest}));
      begin += line.size();
      goes_on = true;
      return true;
    }
    if (feed != nullptr || (!fill() && begin < end)) {
      line = std::string_view(buffer.data() + begin, length);
      begin += length + (feed != nullptr ? 1 : 0);
      if (feed != nullptr && !options.keeps_returns && line.ends_with('\r')) {
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

LineReader::LineReader(const std::string& path, int64_t longest)
    : LineReader(path, LineOptions{.longest = longest}) {}

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

bool LineReader::goes_on() const { return state_->goes_on; }

int64_t LineReader::number() const { return state_->number; }

std::string LineReader::place() const { return text(state_->name, ":", state_->number); }

int64_t LineReader::consumed() const { return state_->source->consumed(); }

int64_t LineReader::total() const { return state_->source->total(); }

}  // namespace weft::formats
