#include "base/log.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::log {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFilePattern = "%Y-%m-%d %H:%M:%S.%e %l %v";
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);
constexpr std::size_t kMaxErrorLength = 900;  // bytes: one line that fits a terminal and a log

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// Terminal width minus one: a full last column makes some terminals wrap.
std::size_t columns() {
  const auto all = terminal_columns(STDERR_FILENO);
  return all > 1 ? all - 1 : 79;
}

std::string truncate_to_width(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t shown = 0; at < text.size() && shown < width; ++shown) {
    const char32_t code = utf8::next(text, at);
    utf8::append(result, code < 0x20 || code == 0x7F ? U' ' : code);
  }
  return result;
}

std::string one_line(std::string_view message) {
  std::string line(message.substr(0, message.find("\nException raised from")));
  for (auto& character : line) {
    if (static_cast<unsigned char>(character) < ' ') {
      character = ' ';
    }
  }
  if (line.size() <= kMaxErrorLength) {
    return line;
  }
  const auto is_continuation = [&](std::size_t at) {
    return (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
  };
  std::size_t end = kMaxErrorLength;
  while (end > 0 && is_continuation(end)) {
    --end;
  }
  return line.substr(0, end) + " ...";
}

class Log {
 public:
  Log() : console_(std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>()) {
    console_->set_color_mode(has_colors() ? spdlog::color_mode::always : spdlog::color_mode::never);
    console_->set_color(spdlog::level::info, "");
    console_->set_color(spdlog::level::debug, "\033[2m");
    console_->set_level(spdlog::level::info);
  }

  void write(Level level, std::string_view text) {
    const std::lock_guard lock(mutex_);
    const bool is_shown = console_->should_log(level_of(level));
    if (is_shown && !progress_line_.empty()) {
      print("\r\033[K");
    }
    if (is_shown) {
      console_->set_pattern(level >= Level::kWarning ? "%^%l:%$ %v" : "%^%v%$");
      send_to_console(level, rank_prefix_ + std::string(text));
    }
    if (is_shown && !progress_line_.empty()) {
      print(progress_line_);
    }
    if (level >= Level::kInfo) {
      for (auto& file : files_) {
        send_to_file(file, level, text);
      }
    }
  }

  void set_level(Level level) {
    const std::lock_guard lock(mutex_);
    console_->set_level(level_of(level));
  }

  void set_rank(int rank) {
    const std::lock_guard lock(mutex_);
    rank_prefix_ = "[rank " + std::to_string(rank) + "] ";
    if (rank > 0) {
      console_->set_level(spdlog::level::warn);
    }
  }

  void open_file(const std::string& path) {
    const std::lock_guard lock(mutex_);
    try {
      files_.push_back(
          {path, std::make_unique<FileWriter>(path, FileWriter::Mode::kAppend), false});
    } catch (const FileError& error) {
      throw UserError(std::string("the log file: ") + error.what());
    }
  }

  void close_file(const std::string& path) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const File& file) { return file.path == path; });
  }

  void write_to_file(const std::string& path, Level level, std::string_view text) {
    const std::lock_guard lock(mutex_);
    for (auto& file : files_) {
      if (file.path == path) {
        send_to_file(file, level, text);
      }
    }
  }

  void set_progress_line(std::string_view text) {
    const std::lock_guard lock(mutex_);
    activity_.clear();
    show_progress_line(text);
  }

  void set_progress(std::string_view activity, double fraction) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (activity != activity_) {
      activity_ = activity;
      activity_begin_ = now;
    } else if (now - activity_shown_ < kBetweenProgress) {
      return;
    }
    activity_shown_ = now;
    const std::chrono::duration<double> passed = now - activity_begin_;
    show_progress_line(activity_text(activity, fraction, passed.count()));
  }

 private:
  struct File {
    std::string path;
    std::unique_ptr<FileWriter> writer;
    bool has_failed = false;
  };

  void show_progress_line(std::string_view text) {
    const bool is_shown = is_terminal() && console_->should_log(spdlog::level::info);
    if (!is_shown || (text.empty() && progress_line_.empty())) {
      return;
    }
    progress_line_ = truncate_to_width(text, columns());
    print("\r" + progress_line_ + "\033[K");
  }

  static spdlog::details::log_msg message(Level level, std::string_view text) {
    return {spdlog::string_view_t("weft"), level_of(level),
            spdlog::string_view_t(text.data(), text.size())};
  }

  void send_to_console(Level level, std::string_view text) {
    try {
      console_->log(message(level, text));
      console_->flush();
    } catch (const spdlog::spdlog_ex&) {
      // Ignored: there is nowhere left to report it.
    }
  }

  /// A failing log file (a full disk) must not end the run: the error is reported once on standard
  /// error, and the lines are written once the file is writable again.
  void send_to_file(File& file, Level level, std::string_view text) {
    try {
      spdlog::memory_buf_t line;
      pattern_.format(message(level, text), line);
      file.writer->write(line.data(), line.size());
      file.writer->flush();
      file.has_failed = false;
    } catch (const FileError& error) {
      if (!file.has_failed) {
        print(std::string("warning: [log] cannot write the log file: ") + error.what() + "\n");
      }
      file.has_failed = true;
    }
  }

  static void print(const std::string& bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  }

  std::mutex mutex_;
  std::shared_ptr<spdlog::sinks::ansicolor_stderr_sink_st> console_;
  spdlog::pattern_formatter pattern_{kFilePattern};
  std::vector<File> files_;
  std::string progress_line_;
  std::string activity_;  // of set_progress
  Clock::time_point activity_begin_;
  Clock::time_point activity_shown_;
  std::string rank_prefix_;
};

/// Never destroyed: a destructor of another static object may still log.
Log& global_log() {
  static Log* log = std::make_unique<Log>().release();
  return *log;
}

}  // namespace

void debug(std::string_view text) { global_log().write(Level::kDebug, text); }
void info(std::string_view text) { global_log().write(Level::kInfo, text); }
void warning(std::string_view text) { global_log().write(Level::kWarning, text); }
void error(std::string_view text) { global_log().write(Level::kError, one_line(text)); }

void set_level(Level level) { global_log().set_level(level); }
void set_rank(int rank) { global_log().set_rank(rank); }
void open_file(const std::string& path) { global_log().open_file(path); }
void close_file(const std::string& path) { global_log().close_file(path); }
void write_to_file(const std::string& path, Level level, std::string_view text) {
  global_log().write_to_file(path, level,
                             level == Level::kError ? one_line(text) : std::string(text));
}

bool is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool has_colors() {
  const char* refused = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool is_refused = refused != nullptr && *refused != '\0';
  return is_terminal() && !is_refused && kind != nullptr && std::string_view(kind) != "dumb";
}

void set_progress_line(std::string_view text) { global_log().set_progress_line(text); }
void set_progress(std::string_view activity, double fraction) {
  global_log().set_progress(activity, fraction);
}

std::string activity_text(std::string_view activity, double fraction, double seconds) {
  if (fraction < 0) {
    return std::string(activity);
  }
  const bool has_estimate = seconds >= 1 && fraction > 0;
  return str_cat(activity, "  ", std::floor(100 * fraction), " %",
                 has_estimate ? "  ETA " + format_duration(seconds * (1 / fraction - 1)) : "");
}

}  // namespace weft::log
