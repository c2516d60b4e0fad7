#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/exceptions.h>

#include "config/node.h"

namespace weft::config {

/// Converts yaml-cpp marks (0-based, columns in bytes) to source locations. Without lines
/// (overrides) every location is just the name.
class SourceLocator {
 public:
  SourceLocator(std::string_view content, const std::string& name, bool has_lines);

  SourceLocation at(int line, int column) const;
  SourceLocation at(const YAML::Mark& mark) const { return at(mark.line, mark.column); }
  /// Returns the line of the mark.
  std::string_view line_of(const YAML::Mark& mark) const;

 private:
  std::shared_ptr<const std::string> source_;
  bool has_lines_;
  std::vector<std::string_view> lines_;
  /// Last requested location. Marks only move forward, so a long line is scanned once, not once per
  /// mark.
  struct Counted {
    std::size_t row = 0;
    std::size_t bytes = 0;
    int64_t characters = 0;
  };
  mutable Counted counted_;
};

/// Removes the byte-order mark and normalizes line ends to LF. Throws Error if not UTF-8 text.
std::string plain_text(std::string_view bytes, const std::string& name, bool has_lines);

/// Throws Error that explains the parser's message to the author of the config.
[[noreturn]] void reject_syntax(const YAML::Exception& error,
                                const SourceLocator& locator,
                                std::string_view content,
                                const std::string& key);

}  // namespace weft::config
