#include "data/store/store_parts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/string_util.h"
#include "formats/binary_records.h"
#include "formats/error.h"

namespace weft::data {

namespace {

// Records, each with its size before it, and the position of the last one, which describes all.
constexpr std::string_view kChunk = "token store chunk";
constexpr std::string_view kEnd = "token store part";

std::string path_of(const std::string& store, const StoreShare& share) {
  return str_cat(store, ".part-", share.index + 1, "-of-", share.count);
}

uint64_t number_at(std::string_view bytes, const std::string& path) {
  uint64_t number = 0;
  if (bytes.size() < sizeof(number)) {
    throw formats::Error(path + ": ends too early");
  }
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

/// Removes a record from the beginning of `rest`.
std::string_view take_record(std::string_view& rest, const std::string& path) {
  const auto size = number_at(rest, path);
  rest.remove_prefix(sizeof(size));
  if (size > rest.size()) {
    throw formats::Error(path + ": ends too early");
  }
  const auto record = rest.substr(0, size);
  rest.remove_prefix(size);
  return record;
}

/// Paths of all shares, if they are there, of any number of shares.
std::vector<std::string> complete_parts(const std::string& store) {
  const auto name = std::filesystem::path(store).filename().string() + ".part-1-of-";
  const auto directory = std::filesystem::path(store).parent_path().string();
  for (const auto& entry : list_directory(directory)) {
    if (!entry.starts_with(name)) {
      continue;
    }
    const auto count = std::strtoll(entry.c_str() + name.size(), nullptr, 10);
    std::vector<std::string> paths;
    for (int64_t index = 0; index < count; ++index) {
      paths.push_back(path_of(store, {.index = index, .count = count}));
      if (!std::filesystem::exists(paths.back())) {
        paths.clear();
        break;
      }
    }
    if (!paths.empty()) {
      return paths;
    }
  }
  return {};
}

}  // namespace

StorePartWriter::StorePartWriter(const std::string& store, const StoreShare& share)
    : file_(path_of(store, share)) {}

void StorePartWriter::write(const std::string& record) {
  const uint64_t size = record.size();
  file_.write(&size, sizeof(size));
  file_.write(record);
}

void StorePartWriter::add(const StoreChunk& chunk) {
  formats::BinaryWriter writer(kChunk);
  writer.write(chunk.tokens);
  writer.write(chunk.lengths);
  writer.write(chunk.boundaries);
  writer.write(chunk.repaired);
  write(writer.finish());
}

void StorePartWriter::finish(int64_t blocks, int64_t line_splits) {
  const auto end = static_cast<uint64_t>(file_.size());
  formats::BinaryWriter writer(kEnd);
  writer.write(blocks);
  writer.write(line_splits);
  write(writer.finish());
  file_.write(&end, sizeof(end));
  file_.commit();
}

std::optional<StoreParts> StoreParts::find(const std::string& store) {
  auto paths = complete_parts(store);
  return paths.empty() ? std::nullopt : std::optional(StoreParts(std::move(paths)));
}

StoreParts::StoreParts(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (const auto& path : paths_) {
    const auto text = files_.emplace_back(path).text();
    const auto end =
        number_at(text.substr(text.size() - std::min(text.size(), sizeof(uint64_t))), path);
    auto last = text.substr(std::min<std::size_t>(end, text.size()));
    formats::BinaryReader reader(take_record(last, path), kEnd);
    const auto blocks = reader.read<int64_t>();
    line_splits_ = reader.read<int64_t>();
    if (files_.size() > 1 && blocks != blocks_) {
      throw formats::Error(str_cat(path, ": of ", blocks, " blocks, others of ", blocks_));
    }
    blocks_ = blocks;
    rest_.push_back(text);
  }
}

bool StoreParts::next(StoreChunk& chunk) {
  if (read_ == blocks_) {
    return false;
  }
  const auto share = static_cast<std::size_t>(read_++) % files_.size();
  formats::BinaryReader reader(take_record(rest_[share], paths_[share]), kChunk);
  chunk.tokens = reader.read<std::string>();
  chunk.lengths = reader.read<std::vector<uint32_t>>();
  chunk.boundaries = reader.read<std::vector<std::size_t>>();
  chunk.repaired = reader.read<int64_t>();
  return true;
}

void StoreParts::remove() const {
  for (const auto& path : paths_) {
    remove_tree(path);
  }
}

}  // namespace weft::data
