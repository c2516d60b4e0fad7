#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/reproduce.h"
#include "train/step/state.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;

/// Tensor files, as paths relative to the checkpoint.
std::set<std::string> tensor_files(const std::string& checkpoint) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (entry.path().extension() == ".safetensors") {
      files.insert(fs::relative(entry.path(), checkpoint).string());
    }
  }
  return files;
}

/// Describes how two tensors of the same shape differ.
std::string difference_of(const formats::TensorView& a, const formats::TensorView& b) {
  const auto width = static_cast<std::size_t>(formats::byte_width(a.dtype));
  int64_t elements = 0;
  double largest = 0;
  for (std::size_t at = 0; at < a.bytes.size(); at += width) {
    const auto* const left = a.bytes.data() + at;
    const auto* const right = b.bytes.data() + at;
    if (std::memcmp(left, right, width) == 0) {
      continue;
    }
    ++elements;
    if (a.dtype == formats::DType::kF32) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, left, width);
      std::memcpy(&y, right, width);
      largest = std::max(largest, std::fabs(static_cast<double>(x) - static_cast<double>(y)));
    }
  }
  return str_cat(with_commas(elements), " of ", with_commas(a.count()),
                 " elements differ, by at most ", shortest_repr(largest));
}

class Comparer {
 public:
  Comparer(const std::string& expected, const std::string& found, int64_t step)
      : expected_(expected), found_(found), step_(step) {}

  Comparison run() {
    const auto left = expected_ + "/" + checkpoint_name(step_);
    const auto right = found_ + "/" + checkpoint_name(step_);
    for (const auto* directory : {&left, &right}) {
      if (!fs::is_directory(*directory)) {
        throw FileError(*directory + ": not found, nothing to compare");
      }
    }
    auto files = tensor_files(left);
    files.merge(tensor_files(right));
    for (const auto& file : files) {
      compare_file(left + "/" + file, right + "/" + file, file);
    }
    compare_states(left, right);
    compare_lines();
    return result_;
  }

 private:
  template <class... Words>
  void differ(const Words&... words) {
    result_.differences.push_back(str_cat(words...));
  }

  void compare_file(const std::string& left, const std::string& right, const std::string& name) {
    if (!fs::exists(left) || !fs::exists(right)) {
      return differ(name, ": only in ", fs::exists(left) ? left : right);
    }
    const formats::SafetensorsFile a(left);
    const formats::SafetensorsFile b(right);
    for (const auto& [tensor, view] : a.tensors()) {
      ++result_.tensors;
      const auto other = b.tensors().find(tensor);
      if (other == b.tensors().end()) {
        differ(name, ": ", tensor, ": only in ", left);
      } else if (view.dtype != other->second.dtype || view.shape != other->second.shape) {
        differ(name, ": ", tensor, ": different shape or dtype");
      } else if (!std::equal(view.bytes.begin(), view.bytes.end(), other->second.bytes.begin())) {
        differ(name, ": ", tensor, ": ", difference_of(view, other->second));
      }
    }
    for (const auto& item : b.tensors()) {
      if (!a.tensors().contains(item.first)) {
        differ(name, ": ", item.first, ": only in ", right);
      }
    }
  }

  void compare_states(const std::string& left, const std::string& right) {
    const auto a = state_of(left);
    const auto b = state_of(right);
    for (const auto& item : a.items()) {
      const auto other = b.contains(item.key()) ? b[item.key()].dump() : "none";
      if (item.value().dump() != other) {
        differ("training/state.json: ", item.key(), " is ", item.value().dump(), " and ", other);
      }
    }
  }

  static formats::Json state_of(const std::string& checkpoint) {
    auto state = read_state(checkpoint + "/training/state.json");
    state.progress.minutes = 0;
    state.threads = 0;
    state.versions.clear();
    return formats::parse_json(to_json(state), checkpoint);
  }

  void compare_lines() {
    const auto a = lines_of(expected_);
    const auto b = lines_of(found_);
    result_.lines = static_cast<int64_t>(a.size());
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (left != a.end() || right != b.end()) {
      differ("metrics.jsonl: line ", left - a.begin() + 1, ": ", left == a.end() ? "none" : *left,
             " and ", right == b.end() ? "none" : *right);
    }
  }

  std::vector<std::string> lines_of(const std::string& run) const {
    const auto path = run + "/metrics.jsonl";
    std::vector<std::string> lines;
    const auto content = fs::exists(path) ? read_file(path) : "";
    for (const auto line : split(content, '\n')) {
      if (line.empty()) {
        continue;
      }
      auto json = formats::parse_json(line, path);
      if (json.at("step").get<int64_t>() > step_) {
        continue;
      }
      for (const auto* key : {"throughput/tokens_per_second", "throughput/peak_memory_bytes"}) {
        json.erase(key);
      }
      lines.push_back(json.dump());
    }
    return lines;
  }

  const std::string& expected_;
  const std::string& found_;
  int64_t step_;
  Comparison result_;
};

}  // namespace

Comparison compare_runs(const std::string& expected, const std::string& found, int64_t step) {
  return Comparer(expected, found, step).run();
}

}  // namespace weft::train
