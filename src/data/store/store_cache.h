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
  StoreFoot foot;
};

/// The store of that key in the cache. Where there is none, or a damaged one (which `remarks`
/// then tell), `build` writes it to the path that it is given. Throws FileError, and what `build`
/// throws.
CachedStore cached_store(const DataOptions& options,
                         uint32_t width,
                         uint64_t key,
                         const std::function<void(const std::string&)>& build,
                         std::vector<std::string>& remarks);

/// Bytes of a token in a store: 2 where the vocabulary allows it, else 4.
uint32_t token_width(const Tokenizer& tokenizer);

/// Appends ids as a store of that width has them.
void append_tokens(const std::vector<int32_t>& ids, uint32_t width, std::string& bytes);

}  // namespace weft::data
