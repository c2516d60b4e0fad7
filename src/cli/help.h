#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

/// Help text of a command, besides its options.
struct HelpText {
  std::string usage;                  // `weft train CONFIG [options]`
  std::string description;            // one or two sentences
  std::vector<std::string> examples;  // complete commands, at least one
};

/// Which help shows a group of options.
enum class HelpLevel {
  kHelp,     // --help and --help-all
  kHelpAll,  // --help-all only
};

/// Columns for help texts: those of the terminal behind standard output, else $COLUMNS, else 100;
/// at least 60, at most 120.
std::size_t help_width();

/// Wraps each line of the text at spaces. The continuation of a line starts below the text after
/// its first gap of two spaces (`  name  what it is`), or with the indentation of the line.
std::string wrap_lines(std::string_view text, std::size_t width);

/// `  name      summary`: the name padded to `width` columns.
std::string help_row(const std::string& name, std::size_t width, const std::string& summary);

/// The words of a usage line that name the command, without `weft`: `tokenizer train`.
std::string command_of(std::string_view usage);

}  // namespace weft::cli
