#include "models/weights/weights.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "formats/json.h"
#include "models/weights/tensors.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

constexpr auto kSingle = "model.safetensors";
constexpr auto kIndex = "model.safetensors.index.json";

bool weights_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The class that config.json names, to be told how to open its pickle file.
std::string class_of(const std::string& directory) {
  const auto path = directory + "/config.json";
  if (weights_exists(path)) {
    const auto json = formats::read_json(path);
    const auto list = json.is_object() ? json.find("architectures") : json.end();
    if (json.is_object() && list != json.end() && list->is_array() && !list->empty() &&
        list->at(0).is_string()) {
      const auto name = list->at(0).get<std::string>();
      const auto is_letter = [](unsigned char byte) { return std::isalnum(byte) != 0; };
      return std::all_of(name.begin(), name.end(), is_letter) ? name : "AutoModel";
    }
  }
  return "AutoModel";
}

/// Says what is there instead of safetensors.
[[noreturn]] void fail_missing(const std::string& directory) {
  const auto path = directory + "/" + kSingle;
  for (const auto* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (weights_exists(directory + "/" + pickle)) {
      const auto name = class_of(directory);
      throw formats::Error(text(path, ": not there, only ", pickle,
                                ", a pickle file, which can run code and is never read; convert it "
                                "where it can be trusted: python -c \"from transformers import ",
                                name, "; ", name, ".from_pretrained('", directory,
                                "').save_pretrained('", directory, "')\""));
    }
  }
  throw formats::Error(path + ": no such file, and no " + kIndex + " either");
}

/// `(99, 32)`, and the file's dtype.
std::string found_text(const formats::TensorView& view) {
  return text(shape_text(view.shape), " of ", formats::name_of(view.dtype));
}

bool is_float(formats::DType dtype) {
  using formats::DType;
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

}  // namespace

bool WeightFiles::are_in(const std::string& directory) {
  return weights_exists(directory + "/" + kSingle) || weights_exists(directory + "/" + kIndex);
}

WeightFiles::WeightFiles(const std::string& directory) {
  const auto single = directory + "/" + kSingle;
  const auto index = directory + "/" + kIndex;
  if (weights_exists(single)) {
    main_ = single;
    add(formats::TensorFile(single));
  } else if (weights_exists(index)) {
    main_ = index;
    open_shards(directory, index);
  } else {
    fail_missing(directory);
  }
}

void WeightFiles::open_shards(const std::string& directory, const std::string& index) {
  const auto json = formats::read_json(index);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    throw formats::Error(index + ": weight_map: an object of file names by tensor is expected");
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const auto name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name.find('/') != std::string::npos || !name.ends_with(".safetensors")) {
      throw formats::Error(
          index + ": weight_map: a name of a .safetensors file beside it is expected, found '" +
          name.substr(0, 80) + "'");
    }
    files.insert(name);
  }
  for (const auto& name : files) {
    add(formats::TensorFile(directory + "/" + name));
  }
  for (const auto& [tensor, file] : map->items()) {
    if (find(tensor) == nullptr) {
      throw formats::Error(index + ": weight_map: " + file.get<std::string>() + " has no tensor '" +
                           tensor.substr(0, 80) + "'");
    }
  }
}

void WeightFiles::add(formats::TensorFile file) {
  for (const auto& [name, view] : file.tensors()) {
    if (!where_.emplace(name, files_.size()).second) {
      throw formats::Error(file.path() + ": tensor '" + name.substr(0, 80) + "' is in two files");
    }
  }
  files_.push_back(std::move(file));
}

const formats::TensorView* WeightFiles::find(const std::string& name) const {
  const auto found = where_.find(name);
  return found == where_.end() ? nullptr : &files_[found->second].at(name);
}

const std::string& WeightFiles::file_of(const std::string& name) const {
  const auto found = where_.find(name);
  return found == where_.end() ? main_ : files_[found->second].path();
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> result;
  for (const auto& [name, file] : where_) {
    result.push_back(name);
  }
  return result;
}

namespace {

/// The spelling under which the files have the tensor.
std::optional<std::string> stored_name(const WeightFiles& files,
                                       const StoredTensor& wanted,
                                       const ModelOptions& options) {
  for (const auto& name : spellings(wanted, options)) {
    if (files.find(name) != nullptr) {
      return name;
    }
  }
  return std::nullopt;
}

/// What is wrong with the tensor, or nothing.
std::string complaint(const WeightFiles& files,
                      const StoredTensor& wanted,
                      const std::optional<std::string>& name) {
  if (!name) {
    return text(files.file_of(wanted.name), ": no tensor '", wanted.name,
                "', which config.json asks for with shape ", shape_text(wanted.shape));
  }
  const auto& view = *files.find(*name);
  if (view.shape != wanted.shape || !is_float(view.dtype)) {
    return text(files.file_of(*name), ": ", *name, ": found ", found_text(view),
                ", config.json asks for ", shape_text(wanted.shape), " of F32, F16, BF16 or F64");
  }
  return "";
}

}  // namespace

Assignment assign(const WeightFiles& files,
                  const ModelOptions& options,
                  const std::set<Part>& may_be_fresh) {
  Assignment result;
  std::set<std::string> used;
  for (auto& wanted : stored_tensors(options)) {
    const auto name = stored_name(files, wanted, options);
    const auto wrong = complaint(files, wanted, name);
    const bool may_miss = wanted.may_be_missing && !name;
    if (!wrong.empty() && !may_miss && !may_be_fresh.contains(wanted.part)) {
      throw formats::Error(wrong);
    }
    if (!wrong.empty()) {
      result.fresh.insert(wanted.parameter);
      continue;
    }
    used.insert(*name);
    used.insert(wanted.name);
    result.pairs.push_back({.wanted = std::move(wanted), .stored = *name});
  }
  std::erase_if(result.pairs,
                [&](const auto& pair) { return result.fresh.contains(pair.wanted.parameter); });
  for (const auto& name : files.names()) {
    if (!used.contains(name) && !is_harmless(name, options)) {
      result.unused.push_back(name);
    }
  }
  return result;
}

}  // namespace weft::models
