#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/string_util.h"
#include "formats/image_array.h"
#include "formats/line_reader.h"

namespace weft::formats {

namespace {

constexpr int64_t kMaxLineBytes = int64_t{64} << 20;

std::optional<double> number_in(std::string_view field) {
  field = trim(field);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_number = error == std::errc() && end == field.data() + field.size();
  return is_number && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool is_header(const std::vector<std::string_view>& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](std::string_view field) { return !number_in(field); });
}

int64_t side_of(int64_t pixels) {
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(pixels))));
  return side > 0 && side * side == pixels ? side : 0;
}

/// Reads one file; the shape is known after the first row.
class ImageCsvReader {
 public:
  ImageCsvReader(const std::string& path, const ImageCsvOptions& options)
      : path_(path), options_(options), lines_(path, kMaxLineBytes) {}

  ImageArray read() {
    for (std::string_view line; lines_.next(line);) {
      if (trim(line).empty()) {
        continue;
      }
      const auto fields = fields_of(line);
      const bool begins = columns_ == 0;
      if (begins) {
        columns_ = fields.size();
        const bool has_header = is_header(fields);
        find_label(fields, has_header);
        find_shape();
        if (has_header) {
          continue;
        }
      }
      add(fields);
    }
    if (rows_.pixels.empty()) {
      throw Error(path_ + ": no rows, must have at least one");
    }
    return std::move(rows_);
  }

 private:
  std::vector<std::string_view> fields_of(std::string_view line) {
    if (separator_ == '\0') {
      separator_ = line.find('\t') != std::string_view::npos ? '\t' : ',';
    }
    auto fields = split(line, separator_);
    for (auto& field : fields) {
      field = trim(field);
      if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
        field = field.substr(1, field.size() - 2);
      }
    }
    return fields;
  }

  /// Finds the label column: by name in the header, by number, else `label`, else the last.
  void find_label(const std::vector<std::string_view>& first, bool has_header) {
    if (!options_.has_labels) {
      return;
    }
    if (has_header) {
      const auto wanted = options_.label.value_or("label");
      const auto found = std::find(first.begin(), first.end(), wanted);
      if (found != first.end()) {
        label_ = static_cast<std::size_t>(found - first.begin());
        return;
      }
    }
    if (options_.label) {
      const auto number = number_in(*options_.label);
      if (!number || *number < 1 || *number > static_cast<double>(columns_) ||
          *number != std::floor(*number)) {
        throw Error(str_cat(
            path_, ": no column ", quoted_text(*options_.label), ", must be a number from 1 to ",
            columns_, has_header ? " or a name from its header" : ": the file has no header"));
      }
      label_ = static_cast<std::size_t>(*number) - 1;
      return;
    }
    label_ = columns_ - 1;
  }

  void find_shape() {
    const auto pixels = static_cast<int64_t>(columns_) - (label_ ? 1 : 0);
    rows_.channels = side_of(pixels) > 0 ? 1 : 3;
    rows_.height = rows_.width = side_of(pixels / rows_.channels);
    if (rows_.height == 0 || rows_.height * rows_.width * rows_.channels != pixels) {
      throw Error(str_cat(
          path_, ":", lines_.number(), ": ", pixels,
          " pixels per row, must be a square number, or three times one for colour images"));
    }
    check_image_size({rows_.height, rows_.width}, path_);
  }

  void add(const std::vector<std::string_view>& fields) {
    if (fields.size() != columns_) {
      throw Error(str_cat(lines_.location(), ": ", fields.size(), " fields, must be ", columns_,
                          " as in the first line"));
    }
    if (static_cast<int64_t>(rows_.pixels.size()) > kMaxPixelBytes) {
      throw Error(str_cat(path_, ": too many images, allowed are at most ",
                          format_bytes(static_cast<double>(kMaxPixelBytes))));
    }
    planes_.clear();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (label_ && i == *label_) {
        rows_.labels.push_back(label_in(fields[i]));
      } else {
        planes_.push_back(pixel_in(fields[i], i));
      }
    }
    const auto area = static_cast<std::size_t>(rows_.height * rows_.width);
    for (std::size_t i = 0; i < area; ++i) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(rows_.channels); ++c) {
        rows_.pixels.push_back(planes_[c * area + i]);
      }
    }
  }

  int64_t label_in(std::string_view field) const {
    const auto value = number_in(field);
    if (!value || *value < 0 || *value > 1e9 || *value != std::floor(*value)) {
      throw Error(str_cat(lines_.location(), ": label ", quoted_text(field),
                          ", must be an integer of at least 0"));
    }
    return static_cast<int64_t>(*value);
  }

  uint8_t pixel_in(std::string_view field, std::size_t column) const {
    const auto value = number_in(field);
    const auto white = static_cast<double>(options_.white);
    if (!value || *value < 0 || *value > white) {
      throw Error(str_cat(lines_.location(), ": column ", column + 1, ": pixel ",
                          quoted_text(field), ", must be a number from 0 to ", options_.white));
    }
    return static_cast<uint8_t>(std::lround(*value * 255 / white));
  }

  const std::string& path_;
  const ImageCsvOptions& options_;
  LineReader lines_;
  char separator_ = '\0';
  std::size_t columns_ = 0;
  std::optional<std::size_t> label_;
  std::vector<uint8_t> planes_;  // pixels of the current row
  ImageArray rows_;
};

}  // namespace

ImageArray read_image_csv(const std::string& path, const ImageCsvOptions& options) {
  return ImageCsvReader(path, options).read();
}

}  // namespace weft::formats
