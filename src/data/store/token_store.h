#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Tokenised running text: documents, each of one or more sentences (lines, or as set by
/// SentenceBoundary), without special tokens. Memory-mapped; 2 bytes per token if the vocabulary
/// allows it, else 4. Empty sentences and documents are not stored.
class TokenStore {
 public:
  virtual ~TokenStore() = default;

  virtual int64_t documents() const = 0;
  virtual int64_t sentences() const = 0;
  virtual int64_t tokens() const = 0;
  /// First sentence of a document; `document == documents()` returns sentences().
  virtual int64_t first_sentence(int64_t document) const = 0;
  /// First token of a sentence; `sentence == sentences()` returns tokens(), so that lengths are
  /// differences.
  virtual int64_t first_token(int64_t sentence) const = 0;
  /// Appends tokens [begin, end) to `ids`.
  virtual void read(int64_t begin, int64_t end, std::vector<int64_t>& ids) const = 0;
  /// Hash of content and settings.
  virtual uint64_t fingerprint() const = 0;
  /// Path of the file.
  virtual const std::string& path() const = 0;
  /// Largest id in the store; -1: unknown, or no tokens.
  virtual int64_t largest_token() const { return -1; }
};

/// Tokens [begin, end) of a store.
struct TokenSpan {
  const TokenStore* store = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tokens() const { return end - begin; }
};

/// Opens the store of one data item: looked up in the cache by the hash of the file contents and of
/// all settings that affect tokens, else built there on all cores (bounded memory, written
/// atomically; if two processes build at once, one file wins). A damaged store is rebuilt. Throws
/// data::Error, FileError, Stopped; text that is not UTF-8 is read with U+FFFD and counted in
/// `remarks`.
std::shared_ptr<const TokenStore> open_token_store(const DataItem& item,
                                                   const DataOptions& options,
                                                   const Tokenizer& tokenizer,
                                                   const ProgressVisitor& progress,
                                                   std::vector<std::string>& remarks);

/// Of the blocks of a text, those that one of several processes tokenises.
struct StoreShare {
  int64_t index = 0;
  int64_t count = 1;

  bool has(int64_t block) const { return block % count == index; }
};

/// Tokenises one share of the texts of an item and leaves it in the cache, from which
/// open_token_store builds the store if those of all shares are there. Does nothing if the store is
/// there. Throws like open_token_store.
void write_store_part(const DataItem& item,
                      const DataOptions& options,
                      const Tokenizer& tokenizer,
                      const StoreShare& share);

/// `data.cache_dir`, else $WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft.
std::string cache_directory(const DataOptions& options);

}  // namespace weft::data
