#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::log {

enum class Level { kDebug, kInfo, kWarning, kError };

/// Messages go to standard error (without timestamps, coloured on a terminal unless NO_COLOR is
/// set) and, after `open_file`, to files (with timestamps, flushed after every line). Text
/// starts with its `[area]`. The progress line, if any, is cleared before and redrawn after.
void debug(std::string_view text);
void info(std::string_view text);
void warning(std::string_view text);
/// One line of limited length: messages of libraries may have several lines and a stack trace.
void error(std::string_view text);

/// Lowest level shown on standard error (default kInfo). Files always get kInfo and above.
void set_level(Level level);

/// Marks this process as one of several that share a standard error: its messages there begin with
/// `[rank 2] `, and ranks other than 0 show only warnings and errors.
void set_rank(int rank);

/// Appends to `path` until `close_file`, besides other open files. Throws UserError if it cannot be
/// opened.
void open_file(const std::string& path);
void close_file(const std::string& path);
/// Writes to this open file only: what is shown on standard error once the file is closed.
void write_to_file(const std::string& path, Level level, std::string_view text);

/// Whether standard error is a terminal with colours (respects NO_COLOR and TERM=dumb).
bool has_colors();
bool is_terminal();
/// Columns of the terminal behind a file descriptor; 0 if there is none.
std::size_t terminal_columns(int descriptor);

/// Shows `text` as the last line of the terminal until the next call; empty removes it. No-op if
/// standard error is not a terminal.
void set_progress_line(std::string_view text);

/// Shows an activity as the progress line, as activity_text. It begins with the first call of that
/// name. Cheap enough for every batch.
void set_progress(std::string_view activity, double fraction);

/// `evaluating  37 %  ETA 12 s`. fraction: the completed part, 0 to 1; negative: unknown. seconds:
/// since the activity began; there is no estimate in the first one.
std::string activity_text(std::string_view activity, double fraction, double seconds);

}  // namespace weft::log
