#include "data/store/token_store.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/stop.h"
#include "base/text.h"
#include "data/error.h"
#include "data/store/store_cache.h"
#include "data/store/tokenise.h"
#include "data/text/text_source.h"
#include "formats/table.h"

namespace weft::data {

namespace {

constexpr std::chrono::milliseconds kStoreProgressPeriod{100};

/// Hash of all that decides what is in the store.
uint64_t store_key_of(const DataItem& item,
                      const DataOptions& options,
                      const Tokenizer& tokenizer) {
  std::string facts = text(
      "token store ", kStoreVersion, " tokenizer ", hex(tokenizer.fingerprint()), " sentences ",
      static_cast<int>(options.sentence), " longest ", TextReader::kLongestLine);
  for (const auto& file : item.files) {
    leave_if_stopped("reading the texts");
    facts += text("\nfile ", hex(digest_file(file)), file.ends_with(".gz") ? " gz" : "");
    if (const auto kind = formats::table_kind(file)) {
      facts += text(" table ", static_cast<int>(*kind));
      for (const auto& column : text_columns(item, file)) {
        facts += text(" ", column.size(), ":", column);
      }
    } else {
      facts += text(" plain ", static_cast<int>(options.document));
    }
  }
  return digest(facts);
}

void build(const std::string& path,
           const DataItem& item,
           const DataOptions& options,
           const Tokenizer& tokenizer,
           uint32_t width,
           uint64_t key,
           const ProgressVisitor& progress) {
  StoreWriter writer(path, width, key);
  TokenisedText texts(item, options, tokenizer, width);
  auto shown = std::chrono::steady_clock::now() - kStoreProgressPeriod;
  for (StorePiece piece; texts.next(piece);) {
    writer.add(piece);
    const auto now = std::chrono::steady_clock::now();
    if (progress && now - shown >= kStoreProgressPeriod) {
      const auto name = std::filesystem::path(texts.file()).filename().string();
      progress({.doing = "tokenising " + name, .share = texts.share()});
      shown = now;
    }
  }
  writer.finish(texts.cuts());
}

void add_remarks(const std::string& name,
                 const StoreFoot& foot,
                 std::vector<std::string>& remarks) {
  if (foot.repaired > 0) {
    remarks.push_back(text(name, ": ", with_commas(foot.repaired),
                           foot.repaired == 1 ? " line that is" : " lines that are",
                           " not UTF-8, read with U+FFFD for the bytes that are wrong"));
  }
  if (foot.cuts > 0) {
    remarks.push_back(text(name, ": lines longer than ",
                           byte_size(static_cast<double>(TextReader::kLongestLine)), " cut at ",
                           with_commas(foot.cuts), foot.cuts == 1 ? " place" : " places"));
  }
}

/// The value of an environment variable that is set and not empty.
std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

std::shared_ptr<const TokenStore> open_token_store(const DataItem& item,
                                                   const DataOptions& options,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress,
                                                   std::vector<std::string>& remarks) {
  const uint32_t width = token_width(tokenizer);
  const uint64_t key = store_key_of(item, options, tokenizer);
  const auto found = cached_store(
      options, width, key,
      [&](const std::string& path) { build(path, item, options, tokenizer, width, key, progress); },
      remarks);
  if (found.store->largest_token() >= tokenizer.size()) {
    throw Error(text(found.store->path(), ": a damaged token store: it holds the id ",
                     found.store->largest_token(), ", the tokenizer has ", tokenizer.size(),
                     "; remove the file"));
  }
  add_remarks(item.path, found.foot, remarks);
  return found.store;
}

std::string cache_directory(const DataOptions& options) {
  if (options.cache) {
    return *options.cache;
  }
  if (auto own = environment("WEFT_CACHE")) {
    return *own;
  }
  // A relative path there is to be ignored, says the XDG base directory specification.
  if (const auto caches = environment("XDG_CACHE_HOME"); caches && caches->starts_with('/')) {
    return *caches + "/weft";
  }
  if (const auto home = environment("HOME")) {
    return *home + "/.cache/weft";
  }
  throw Error("data.cache: no folder for token stores: neither it nor WEFT_CACHE nor HOME is set");
}

}  // namespace weft::data
