#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/data_options.h"
#include "data/store/store_file.h"
#include "data/text/text_source.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Tokens of a data item's texts, in text order, produced on all cores in bounded memory: each
/// thread reads the next block of text, tokenises it and hands it over; threads run at most a few
/// blocks ahead of the consumer.
class TokenizedTextStream {
 public:
  /// `width`: bytes per token, 2 or 4. Chunks of blocks that `share` does not have are empty.
  TokenizedTextStream(const DataItem& item,
                      const DataOptions& options,
                      const Tokenizer& tokenizer,
                      uint32_t width,
                      const StoreShare& share = {});
  TokenizedTextStream(const TokenizedTextStream&) = delete;
  TokenizedTextStream& operator=(const TokenizedTextStream&) = delete;
  ~TokenizedTextStream();

  /// Reads the next chunk; false at the end. Rethrows worker errors; throws Stopped.
  bool next(StoreChunk& chunk);
  /// Source file of the last chunk, and the fraction of all bytes up to its end.
  const std::string& file() const { return file_; }
  double fraction_read() const { return fraction_read_; }
  /// Number of splits of long lines; valid at the end.
  int64_t line_splits() const { return line_splits_; }

 private:
  struct TextBlock {
    std::string text;                     // concatenated lines
    std::vector<std::size_t> ends;        // end of each line
    std::vector<std::size_t> boundaries;  // a new document begins before these lines
    std::string file;
    double fraction_read = 0;
  };
  struct Result {
    StoreChunk chunk;
    std::string file;
    double fraction_read = 0;
    std::exception_ptr failure;
  };

  void work();
  TextBlock read();
  StoreChunk tokenize(const TextBlock& block) const;
  void put_tokens(const std::vector<int32_t>& ids, StoreChunk& chunk) const;

  const Tokenizer& tokenizer_;
  SentenceBoundary boundary_;
  uint32_t width_;
  StoreShare share_;
  std::string file_;
  double fraction_read_ = 0;
  int64_t line_splits_ = 0;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  TextReader reader_;
  std::map<int64_t, Result> ready_;
  int64_t read_ = 0;   // blocks read so far
  int64_t taken_ = 0;  // blocks returned by `next`
  int64_t window_ = 1;
  bool is_finished_ = false;
  bool is_cancelled_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::data
