#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cli/predict/request_reader.h"
#include "formats/line_reader.h"

namespace weft::cli {

/// Rows of a file of lines: JSON objects or plain texts.
class LineInput : public InputReader {
 public:
  LineInput(const std::string& path, LineFormat format) : lines_(path), format_(format) {}

  bool next(InputRow& row) override;
  int64_t blank_lines() const override { return blank_; }
  bool has_input() const override { return has_row() || lines_.has_input(); }
  double fraction_read() const override { return lines_.fraction_read(); }

 private:
  bool has_row() const {
    return format_ != LineFormat::kDetected && (!leading_.empty() || row_.has_value());
  }
  InputRow take_row();
  /// Decides what the lines are by the first that is not blank.
  void detect(std::string_view line);
  InputRow row_of(std::string_view line) const;

  formats::LineReader lines_;
  LineFormat format_;
  int64_t blank_ = 0;
  std::deque<std::string> leading_;  // locations of blank lines before the first other line
  std::optional<InputRow> row_;      // after them
};

}  // namespace weft::cli
