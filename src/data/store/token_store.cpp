#include "data/store/token_store.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/remark.h"
#include "data/store/store_cache.h"
#include "data/store/store_parts.h"
#include "data/store/tokenize.h"
#include "data/text/text_source.h"
#include "formats/error.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

constexpr std::chrono::milliseconds kStoreProgressPeriod{100};

/// Hash of everything that affects the store.
uint64_t store_key_of(const DataItem& item,
                      const DataOptions& options,
                      const Tokenizer& tokenizer) {
  std::string facts = str_cat(
      "token store ", kStoreVersion, " tokenizer ", to_hex(tokenizer.fingerprint()), " sentences ",
      static_cast<int>(options.sentence), " longest ", TextReader::kMaxLineBytes);
  for (const auto& file : item.files) {
    throw_if_stopped("reading the texts");
    facts += file_facts(file, item.table);
    if (formats::table_kind(file)) {
      for (const auto& column : text_columns(item, file)) {
        facts += str_cat(" ", column.size(), ":", column);
      }
    } else {
      facts += str_cat(" plain ", static_cast<int>(options.document));
    }
  }
  return digest(facts);
}

/// Builds the store from the parts that several processes have tokenised; false if there are none,
/// or damaged ones.
bool build_from_parts(const std::string& path, uint32_t width, uint64_t key) {
  try {
    auto parts = StoreParts::find(path);
    if (!parts) {
      return false;
    }
    StoreWriter writer(path, width, key);
    for (StoreChunk chunk; parts->next(chunk);) {
      throw_if_stopped("building the token store");
      writer.add(chunk);
    }
    writer.finish(parts->line_splits());
    parts->remove();
  } catch (const formats::Error&) {
    return false;
  }
  return true;
}

void build(const std::string& path,
           const DataItem& item,
           const DataOptions& options,
           const Tokenizer& tokenizer,
           uint32_t width,
           uint64_t key,
           const ProgressVisitor& progress) {
  if (build_from_parts(path, width, key)) {
    return;
  }
  StoreWriter writer(path, width, key);
  TokenizedTextStream texts(item, options, tokenizer, width);
  auto last_shown = std::chrono::steady_clock::now() - kStoreProgressPeriod;
  for (StoreChunk chunk; texts.next(chunk);) {
    writer.add(chunk);
    const auto now = std::chrono::steady_clock::now();
    if (progress && now - last_shown >= kStoreProgressPeriod) {
      const auto name = std::filesystem::path(texts.file()).filename().string();
      progress({.activity = "tokenizing " + name, .fraction = texts.fraction_read()});
      last_shown = now;
    }
  }
  writer.finish(texts.line_splits());
}

void add_remarks(const std::string& name,
                 const StoreFooter& footer,
                 std::vector<std::string>& remarks) {
  add_remark(remarks, name, repaired_remark(footer.repaired, "line"));
  if (footer.line_splits > 0) {
    remarks.push_back(str_cat(name, ": lines longer than ",
                              format_bytes(static_cast<double>(TextReader::kMaxLineBytes)),
                              " were split at ", counted(footer.line_splits, "place")));
  }
}

/// Value of an environment variable; nullopt if it is unset or empty.
std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

std::shared_ptr<const TokenStore> open_token_store(const DataItem& given,
                                                   const DataOptions& options,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress,
                                                   std::vector<std::string>& remarks) {
  const DataItem item = with_text_files(given);
  const uint32_t width = token_width(tokenizer);
  const uint64_t key = store_key_of(item, options, tokenizer);
  const auto found = cached_store(
      options, width, key,
      [&](const std::string& path) { build(path, item, options, tokenizer, width, key, progress); },
      remarks);
  if (found.store->largest_token() >= tokenizer.size()) {
    throw Error(str_cat(found.store->path(), ": a damaged token store: it has the token id ",
                        found.store->largest_token(), ", but the tokenizer's size is ",
                        tokenizer.size(), "; delete the file"));
  }
  add_remarks(item.path, found.footer, remarks);
  for (const auto& file : item.files) {
    if (formats::table_kind(file)) {
      add_table_remarks(file, text_columns(item, file), item.table, remarks);
    }
  }
  return found.store;
}

void write_store_part(const DataItem& given,
                      const DataOptions& options,
                      const Tokenizer& tokenizer,
                      const StoreShare& share) {
  const DataItem item = with_text_files(given);
  const auto path = store_path(options, store_key_of(item, options, tokenizer));
  if (std::filesystem::exists(path)) {
    return;
  }
  make_directories(cache_directory(options));
  StorePartWriter writer(path, share);
  TokenizedTextStream texts(item, options, tokenizer, token_width(tokenizer), share);
  int64_t block = 0;
  for (StoreChunk chunk; texts.next(chunk); ++block) {
    if (share.has(block)) {
      writer.add(chunk);
    }
  }
  writer.finish(block, texts.line_splits());
}

std::string cache_directory(const DataOptions& options) {
  if (options.cache) {
    return *options.cache;
  }
  if (auto own = environment("WEFT_CACHE")) {
    return *own;
  }
  // The XDG base directory specification says to ignore relative paths.
  if (const auto caches = environment("XDG_CACHE_HOME"); caches && caches->starts_with('/')) {
    return *caches + "/weft";
  }
  if (const auto home = environment("HOME")) {
    return *home + "/.cache/weft";
  }
  throw Error(
      "data.cache_dir: no directory for token stores: neither it nor WEFT_CACHE nor HOME is set");
}

}  // namespace weft::data
