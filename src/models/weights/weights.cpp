#include "models/weights/weights.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
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

/// Class named in config.json, for the hint on how to convert its pickle file.
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

/// Throws, naming the files found instead of safetensors.
[[noreturn]] void fail_missing(const std::string& directory) {
  const auto path = directory + "/" + kSingle;
  for (const auto* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (weights_exists(directory + "/" + pickle)) {
      const auto name = class_of(directory);
      throw formats::Error(
          str_cat(path, ": missing, only ", pickle,
                  " is there, a pickle file, which can run code and is never read; if you trust "
                  "it, convert it: python -c \"from transformers import ",
                  name, "; ", name, ".from_pretrained('", directory, "').save_pretrained('",
                  directory, "')\""));
    }
  }
  throw formats::Error(path + ": file not found, and no " + kIndex + " either");
}

/// `(99, 32)`, and the file's dtype.
std::string found_text(const formats::TensorView& view) {
  return str_cat(shape_text(view.shape), " of ", formats::name_of(view.dtype));
}

bool is_float(formats::DType dtype) {
  using formats::DType;
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

}  // namespace

bool SafetensorsShards::exist_in(const std::string& directory) {
  return weights_exists(directory + "/" + kSingle) || weights_exists(directory + "/" + kIndex);
}

SafetensorsShards::SafetensorsShards(const std::string& directory) {
  const auto single = directory + "/" + kSingle;
  const auto index = directory + "/" + kIndex;
  if (weights_exists(single)) {
    main_path_ = single;
    add(formats::SafetensorsFile(single));
  } else if (weights_exists(index)) {
    main_path_ = index;
    open_shards(directory, index);
  } else {
    fail_missing(directory);
  }
  if (const auto separate = directory + "/" + kSeparateTensors; weights_exists(separate)) {
    add(formats::SafetensorsFile(separate));
  }
}

void SafetensorsShards::open_shards(const std::string& directory, const std::string& index) {
  const auto json = formats::read_json(index);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    throw formats::Error(index + ": weight_map: must be an object of file names by tensor name");
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const auto name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name.find('/') != std::string::npos || !name.ends_with(".safetensors")) {
      throw formats::Error(
          index +
          ": weight_map: must be the name of a .safetensors file in the same directory, found " +
          quoted_text(name));
    }
    files.insert(name);
  }
  for (const auto& name : files) {
    add(formats::SafetensorsFile(directory + "/" + name));
  }
  for (const auto& [tensor, file] : map->items()) {
    if (find(tensor) == nullptr) {
      throw formats::Error(index + ": weight_map: " + file.get<std::string>() + " has no tensor " +
                           quoted_text(tensor));
    }
  }
}

void SafetensorsShards::add(formats::SafetensorsFile file) {
  for (const auto& [name, view] : file.tensors()) {
    if (!shard_of_.emplace(name, files_.size()).second) {
      throw formats::Error(file.path() + ": tensor " + quoted_text(name) + " is in two files");
    }
  }
  files_.push_back(std::move(file));
}

const formats::TensorView* SafetensorsShards::find(const std::string& name) const {
  const auto found = shard_of_.find(name);
  return found == shard_of_.end() ? nullptr : &files_[found->second].at(name);
}

const std::string& SafetensorsShards::file_of(const std::string& name) const {
  const auto found = shard_of_.find(name);
  return found == shard_of_.end() ? main_path_ : files_[found->second].path();
}

std::vector<std::string> SafetensorsShards::names() const {
  std::vector<std::string> result;
  for (const auto& [name, file] : shard_of_) {
    result.push_back(name);
  }
  return result;
}

namespace {

/// Name under which the files contain the tensor.
std::optional<std::string> stored_name(const SafetensorsShards& files,
                                       const StoredTensor& wanted,
                                       const ModelOptions& options) {
  for (const auto& name : name_aliases(wanted, options)) {
    if (files.find(name) != nullptr) {
      return name;
    }
  }
  return std::nullopt;
}

/// Error message of a mismatched tensor, or empty.
std::string mismatch(const SafetensorsShards& files,
                     const StoredTensor& wanted,
                     const std::optional<std::string>& name) {
  if (!name) {
    return str_cat(files.file_of(wanted.name), ": missing key: tensor '", wanted.name,
                   "', which config.json requires with shape ", shape_text(wanted.shape));
  }
  const auto& view = *files.find(*name);
  const bool is_allowed = wanted.dtype ? view.dtype == *wanted.dtype : is_float(view.dtype);
  if (view.shape != wanted.shape || !is_allowed) {
    return str_cat(files.file_of(*name), ": ", *name, ": found ", found_text(view),
                   ", but config.json requires ", shape_text(wanted.shape), " of ",
                   wanted.dtype ? formats::name_of(*wanted.dtype) : "F32, F16, BF16 or F64");
  }
  return "";
}

}  // namespace

WeightAssignment assign_weights(const SafetensorsShards& files,
                                const ModelOptions& options,
                                const std::set<Part>& may_be_missing,
                                const std::set<Part>& new_parts) {
  WeightAssignment result;
  std::set<std::string> used;
  for (auto& wanted : weight_map(options)) {
    const auto name = stored_name(files, wanted, options);
    used.insert(wanted.duplicate_name);
    if (new_parts.contains(wanted.part)) {
      result.missing_keys.insert(wanted.parameter);
      used.insert(name.value_or(wanted.name));
      continue;
    }
    const auto wrong = mismatch(files, wanted, name);
    const bool may_miss = wanted.is_optional && !name;
    if (!wrong.empty() && !may_miss && !may_be_missing.contains(wanted.part)) {
      throw formats::Error(wrong);
    }
    if (!wrong.empty()) {
      result.missing_keys.insert(wanted.parameter);
      continue;
    }
    used.insert(*name);
    used.insert(wanted.name);
    result.pairs.push_back({.wanted = std::move(wanted), .stored = *name});
  }
  std::erase_if(result.pairs, [&](const auto& pair) {
    return result.missing_keys.contains(pair.wanted.parameter);
  });
  for (const auto& name : files.names()) {
    if (!used.contains(name) && !is_ignorable(name, options)) {
      result.unexpected_keys.push_back(name);
    }
  }
  return result;
}

}  // namespace weft::models
