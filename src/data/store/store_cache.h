#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/store/store_file.h"
#include "data/tokenizer.h"

namespace weft::data {

struct CachedStore {
  std::shared_ptr<const TokenStore> store;
  StoreFooter footer;
};

/// Where the store with that key is, or will be.
std::string store_path(const DataOptions& options, uint64_t key);

/// Opens the store with that key in the cache. If there is none, or a damaged one (reported in
/// `remarks`), `build` writes it to the path it is given. Throws FileError, and anything `build`
/// throws.
CachedStore cached_store(const DataOptions& options,
                         uint32_t width,
                         uint64_t key,
                         const std::function<void(const std::string&)>& build,
                         std::vector<std::string>& remarks);

/// Bytes per token in a store: 2 if the vocabulary allows it, else 4.
uint32_t token_width(const Tokenizer& tokenizer);

/// Appends ids encoded with the given width.
void append_tokens(const std::vector<int32_t>& ids, uint32_t width, std::string& bytes);

/// Everything about a file that affects a store made of it: its content, compression and table
/// format.
std::string file_facts(const std::string& file, const formats::TableOptions& table);

/// Adds what was inferred about a table whose columns are read.
void add_table_remarks(const std::string& file,
                       const std::vector<std::string>& columns,
                       const formats::TableOptions& table,
                       std::vector<std::string>& remarks);

}  // namespace weft::data
