#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;
using formats::Json;

// Placeholder for the manifest's own checksum while it is computed.
const std::string kNoChecksum(16, '0');

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const auto name = fs::relative(entry.path(), directory).string();
    if (entry.is_regular_file() && name != kManifest) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

Json tensor_checksums(const std::string& path) {
  Json checksums = Json::object();
  const formats::SafetensorsFile file(path);
  for (const auto& [name, tensor] : file.tensors()) {
    checksums[name] = to_hex(digest(tensor.bytes.data(), tensor.bytes.size()));
  }
  return checksums;
}

// Describes which tensors of a file are damaged, as far as possible.
std::string describe_damage(const std::string& path, const Json& expected) {
  if (!is_safetensors(path) || !expected.contains("tensors")) {
    return "";
  }
  std::vector<std::string> damaged;
  try {
    const auto found = tensor_checksums(path);
    for (const auto& [name, checksum] : expected.at("tensors").items()) {
      if (!found.contains(name)) {
        return " (its header)";
      }
      if (found.at(name) != checksum) {
        damaged.push_back(name);
      }
    }
  } catch (const UserError&) {
    return " (its header)";
  }
  constexpr std::size_t kShown = 3;
  const auto count = damaged.size();
  damaged.resize(std::min(count, kShown));
  return count == 0 ? " (its header)"
                    : str_cat(" (", join(damaged), count > kShown ? ", ..." : "", ")");
}

/// Whether the name is safe as a path in the directory and in a message.
bool is_safe_path(const std::string& name) {
  constexpr std::size_t kLongest = 255;
  const fs::path path(name);
  const bool is_clean = std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  });
  return is_clean && !name.empty() && name.size() <= kLongest && !path.is_absolute() &&
         std::find(path.begin(), path.end(), "..") == path.end();
}

void verify_file(const std::string& path, const Json& expected) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    throw formats::Error(path + ": missing, but listed in the manifest");
  }
  if (error) {
    throw formats::Error(str_cat(path, ": cannot read: ", error.message()));
  }
  if (size != expected.at("size").get<uint64_t>()) {
    throw formats::Error(str_cat(path, ": damaged: ", size, " bytes, but the manifest says ",
                                 expected.at("size").get<uint64_t>()));
  }
  if (to_hex(digest_file(path)) != expected.at("xxh3").get<std::string>()) {
    throw formats::Error(path + ": damaged: its checksum differs from the manifest" +
                         describe_damage(path, expected));
  }
}

// Reads the manifest's files after verifying its own checksum.
Json read_manifest(const std::string& path) {
  constexpr int64_t kLargest = int64_t{64} << 20;
  auto text = read_file(path, kLargest);
  const auto json = formats::parse_json(text, path);
  const auto found = json.find("checksum");
  const std::string checksum =
      found != json.end() && found->is_string() ? found->get<std::string>() : "";
  const auto position = text.find(checksum);
  if (checksum.size() == kNoChecksum.size() && position != std::string::npos) {
    text.replace(position, checksum.size(), kNoChecksum);
  }
  if (to_hex(digest(text)) != checksum) {
    throw formats::Error(path + ": damaged: wrong checksum");
  }
  return json.at("files");
}

}  // namespace

void write_manifest(const std::string& directory) {
  Json json;
  json["format"] = 1;
  json["checksum"] = kNoChecksum;
  json["files"] = Json::object();
  for (const auto& name : files_below(directory)) {
    const auto path = directory + "/" + name;
    auto& entry = json["files"][name];
    entry = {{"size", fs::file_size(path)}, {"xxh3", to_hex(digest_file(path))}};
    if (is_safetensors(name)) {
      entry["tensors"] = tensor_checksums(path);
    }
  }
  auto text = json.dump(2) + "\n";
  text.replace(text.find(kNoChecksum), kNoChecksum.size(), to_hex(digest(text)));
  FileWriter writer(directory + "/" + kManifest, FileWriter::Mode::kPlain);
  writer.write(text);
  writer.commit();
}

bool has_manifest(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(directory + "/" + kManifest, ignored);
}

void verify_manifest(const std::string& directory) {
  const auto path = directory + "/" + kManifest;
  if (!has_manifest(directory)) {
    throw formats::Error(path + ": missing");
  }
  try {
    const auto files = read_manifest(path);
    for (const auto& [name, expected] : files.items()) {
      if (!is_safe_path(name)) {
        throw formats::Error(path + ": lists " + quoted_text(name) +
                             ", must only list files of its directory");
      }
      verify_file(directory + "/" + name, expected);
    }
  } catch (const Json::exception& error) {
    throw formats::Error(path + ": not a manifest: " + error.what());
  }
}

}  // namespace weft::train
