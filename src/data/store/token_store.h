#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Tokenised running text: documents, each of one or more sentences (lines, or what SentenceBorder
/// says), without special tokens. Memory-mapped; 2 bytes a token where the vocabulary allows it,
/// else 4. Empty sentences and documents are not kept.
class TokenStore {
 public:
  virtual ~TokenStore() = default;

  virtual int64_t documents() const = 0;
  virtual int64_t sentences() const = 0;
  virtual int64_t tokens() const = 0;
  /// First sentence of a document; `document == documents()` gives sentences().
  virtual int64_t first_sentence(int64_t document) const = 0;
  /// First token of a sentence; `sentence == sentences()` gives tokens(). So lengths are
  /// differences.
  virtual int64_t first_token(int64_t sentence) const = 0;
  /// Appends tokens [begin, end) to `ids`.
  virtual void read(int64_t begin, int64_t end, std::vector<int64_t>& ids) const = 0;
  /// Hash of content and settings.
  virtual uint64_t fingerprint() const = 0;
  /// Path of the file.
  virtual const std::string& path() const = 0;
  /// The largest id in it; -1: not known, or no tokens.
  virtual int64_t largest_token() const { return -1; }
};

/// The store of one data item: found in the cache by the hash of its files' contents and of all
/// settings that decide tokens, else built there on all cores (bounded memory, written whole or not
/// at all; two processes may build at once, one file wins). A damaged store is rebuilt. Throws
/// data::Error (text that is not UTF-8 is read with U+FFFD and counted in `remarks`), FileError,
/// Stopped.
std::shared_ptr<const TokenStore> open_token_store(const DataItem& item,
                                                   const DataOptions& options,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress,
                                                   std::vector<std::string>& remarks);

/// $WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft; `data.cache` before all of them.
std::string cache_directory(const DataOptions& options);

}  // namespace weft::data
