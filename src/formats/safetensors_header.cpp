#include "formats/safetensors_header.h"

#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "formats/json.h"

namespace weft::formats {

namespace {

constexpr std::size_t kMaxDimensions = 64;
constexpr std::string_view kMetadata = "__metadata__";

/// {name: {dtype, shape, data_offsets}, ..., "__metadata__": {name: text}}
class HeaderReader : public JsonSaxReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : JsonSaxReader(text, path) {}

  SafetensorsHeader take() { return std::move(header_); }

 private:
  void on_open(bool is_object) override {
    const bool is_expected = depth() == 0   ? is_object
                             : depth() == 1 ? is_object
                             : depth() == 2 ? !is_object && !in_metadata_ && field_ != "dtype"
                                            : false;
    if (!is_expected) {
      reject();
    }
    if (depth() == 1 && !in_metadata_) {
      header_.entries.push_back({.name = name_, .dtype = "", .shape = {}});
      seen_.clear();
    } else if (depth() == 2) {
      offsets_ = 0;
    }
  }

  void on_close() override {
    // Called after the depth has decreased.
    if (depth() == 1) {
      if (!in_metadata_ && seen_.size() != 3) {
        fail(str_cat("tensor ", quoted_text(name_), " lacks one of dtype, shape, data_offsets"));
      }
      in_metadata_ = false;
    } else if (depth() == 2 && field_ == "data_offsets" && offsets_ != 2) {
      fail(str_cat("tensor ", quoted_text(name_), ": data_offsets are ", offsets_,
                   " numbers, expected 2"));
    }
  }

  void on_key(std::string&& key) override {
    if (depth() == 1) {
      in_metadata_ = key == kMetadata;
      name_ = std::move(key);
      return;
    }
    field_ = std::move(key);
    if (!in_metadata_) {
      if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
        fail(str_cat("tensor ", quoted_text(name_), ": unknown key ", quoted_text(field_),
                     ", allowed are dtype, shape, data_offsets"));
      }
      seen_.insert(field_);
    }
  }

  void on_scalar(Json&& value, std::string_view) override {
    if (depth() == 2 && in_metadata_ && value.is_string()) {
      header_.metadata.emplace(field_, value.get<std::string>());
    } else if (depth() == 2 && !in_metadata_ && field_ == "dtype" && value.is_string()) {
      header_.entries.back().dtype = value.get<std::string>();
    } else if (depth() == 3 && value.is_number_unsigned()) {
      on_number(value.get<uint64_t>());
    } else {
      reject();
    }
  }

  void on_number(uint64_t number) {
    HeaderEntry& entry = header_.entries.back();
    if (field_ == "data_offsets") {
      (offsets_ == 0 ? entry.begin : entry.end) = number;
      ++offsets_;
      return;
    }
    if (entry.shape.size() == kMaxDimensions) {
      fail(
          str_cat("tensor ", quoted_text(name_), " has more than ", kMaxDimensions, " dimensions"));
    }
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(str_cat("tensor ", quoted_text(name_), ": a dimension of ", number));
    }
    entry.shape.push_back(static_cast<int64_t>(number));
  }

  [[noreturn]] void reject() const {
    if (depth() == 0) {
      fail("the header is not an object");
    }
    if (in_metadata_) {
      fail("__metadata__ is not a map of strings");
    }
    fail(str_cat(
        "tensor ", quoted_text(name_),
        ": not a map of dtype (a string), shape (integers) and data_offsets (two integers)"));
  }

  SafetensorsHeader header_;
  std::string name_;
  std::string field_;
  std::set<std::string> seen_;  // fields of the current tensor
  bool in_metadata_ = false;
  int offsets_ = 0;
};

}  // namespace

SafetensorsHeader read_safetensors_header(std::string_view text, const std::string& path) {
  HeaderReader reader(text, path);
  reader.walk();
  return reader.take();
}

uint64_t bytes_of(const TensorView& view) {
  return static_cast<uint64_t>(view.count() * byte_width(view.dtype));
}

std::string safetensors_header(const std::vector<const NamedTensor*>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  Json::object_t entries;
  Json::object_t::Container& fields = entries;  // append without comparing with all earlier names
  std::set<std::string_view> names{kMetadata};
  if (!metadata.empty()) {
    fields.emplace_back(std::string(kMetadata), Json(metadata));
  }
  uint64_t reached = 0;
  for (const NamedTensor* tensor : tensors) {
    const auto& view = tensor->view;
    const uint64_t bytes = bytes_of(view);
    if (!names.insert(tensor->name).second || (!tensor->read && bytes != view.bytes.size())) {
      throw std::invalid_argument("write_safetensors: " + quoted_text(tensor->name) +
                                  " is duplicated, or its bytes do not match its shape");
    }
    fields.emplace_back(tensor->name, Json{{"dtype", std::string(name_of(view.dtype))},
                                           {"shape", view.shape},
                                           {"data_offsets", {reached, reached + bytes}}});
    reached += bytes;
  }
  return Json(std::move(entries)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::formats
