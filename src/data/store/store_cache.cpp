#include "data/store/store_cache.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/string_util.h"
#include "data/error.h"
#include "formats/byte_source.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

constexpr std::string_view kEnding = ".tokens";

/// Removes leftovers of builds that were killed; a running build has written within the last day.
void remove_leftovers(const std::string& directory) {
  std::error_code error;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    const auto ending = name.find(kEnding);
    if (ending == std::string::npos || ending + kEnding.size() == name.size()) {
      continue;
    }
    std::error_code ignored;
    const auto time = entry->last_write_time(ignored);
    if (!ignored && now - time > std::chrono::hours(24)) {
      try {
        remove_tree(entry->path().string());
      } catch (const FileError&) {
        // Another user's file, in a shared cache.
      }
    }
  }
}

template <class Number>
void append_as(const std::vector<int32_t>& ids, std::string& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + ids.size() * sizeof(Number));
  for (std::size_t index = 0; index < ids.size(); ++index) {
    const auto number = static_cast<Number>(ids[index]);
    std::memcpy(bytes.data() + begin + index * sizeof(Number), &number, sizeof(Number));
  }
}

}  // namespace

std::string store_path(const DataOptions& options, uint64_t key) {
  return str_cat(cache_directory(options), "/", to_hex(key), kEnding);
}

CachedStore cached_store(const DataOptions& options,
                         uint32_t width,
                         uint64_t key,
                         const std::function<void(const std::string&)>& build,
                         std::vector<std::string>& remarks) {
  const auto directory = cache_directory(options);
  make_directories(directory);
  const auto path = store_path(options, key);
  CachedStore found;
  if (std::filesystem::exists(path)) {
    try {
      found.store = open_store_file(path, width, key, found.footer);
    } catch (const Error& damage) {
      remarks.push_back(str_cat(damage.what(), "; rebuilding it"));
    }
  }
  if (!found.store) {
    remove_leftovers(directory);
    build(path);
    found.store = open_store_file(path, width, key, found.footer);
  }
  return found;
}

uint32_t token_width(const Tokenizer& tokenizer) {
  constexpr int64_t kMaxTwoByteTokens = 1 << 16;
  return tokenizer.size() <= kMaxTwoByteTokens ? 2 : 4;
}

void append_tokens(const std::vector<int32_t>& ids, uint32_t width, std::string& bytes) {
  if (width == 2) {
    append_as<uint16_t>(ids, bytes);
  } else {
    append_as<uint32_t>(ids, bytes);
  }
}

std::string file_facts(const std::string& file, const formats::TableOptions& table) {
  std::string facts = str_cat("\nfile ", to_hex(digest_file(file)), formats::compression_of(file));
  if (const auto kind = formats::table_kind(file)) {
    facts += str_cat(" table ", static_cast<int>(*kind), table.has_header ? "" : " without header");
    facts += table.delimiter ? str_cat(" delimiter ", std::string(1, *table.delimiter)) : "";
  }
  return facts;
}

void add_table_remarks(const std::string& file,
                       const std::vector<std::string>& columns,
                       const formats::TableOptions& table,
                       std::vector<std::string>& remarks) {
  const formats::TableReader reader(file, formats::table_kind(file).value(), columns, table);
  for (const auto& remark : reader.remarks()) {
    remarks.push_back(str_cat(file, ": ", remark));
  }
}

}  // namespace weft::data
