#include "cli/predict/line_input.h"

#include <iterator>
#include <utility>

#include "base/string_util.h"
#include "formats/error.h"
#include "formats/json.h"

namespace weft::cli {

bool LineInput::next(InputRow& row) {
  for (std::string_view line; !has_row() && lines_.next(line);) {
    const bool is_blank = trim(line).empty();
    if (format_ == LineFormat::kDetected && is_blank) {
      leading_.push_back(lines_.location());
    } else if (format_ == LineFormat::kDetected) {
      detect(line);
    } else if (is_blank && format_ == LineFormat::kJson) {
      ++blank_;
    } else {
      row_ = row_of(line);
    }
  }
  if (format_ == LineFormat::kDetected) {
    format_ = LineFormat::kPlain;  // blank lines alone
  }
  if (!has_row()) {
    return false;
  }
  row = take_row();
  return true;
}

void LineInput::detect(std::string_view line) {
  format_ = trim(line).starts_with('{') ? LineFormat::kJson : LineFormat::kPlain;
  if (format_ == LineFormat::kJson) {
    blank_ += std::ssize(leading_);
    leading_.clear();
  }
  row_ = row_of(line);
}

InputRow LineInput::take_row() {
  if (leading_.empty()) {
    return *std::exchange(row_, std::nullopt);
  }
  InputRow row{.fields = {{"text", ""}}, .location = std::move(leading_.front())};
  leading_.pop_front();
  return row;
}

InputRow LineInput::row_of(std::string_view line) const {
  if (format_ == LineFormat::kPlain) {
    return {.fields = {{"text", line}}, .location = lines_.location()};
  }
  if (!trim(line).starts_with('{')) {
    throw formats::Error(str_cat(lines_.location(),
                                 ": not a JSON object, as in {\"text\": \"...\"}; lines of plain "
                                 "text are read with --plain"));
  }
  return {.fields = formats::parse_json(line, lines_.location()), .location = lines_.location()};
}

}  // namespace weft::cli
