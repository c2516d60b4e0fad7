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

/// The tokens of a data item's texts, in the order of the texts, made by all cores in bounded
/// memory: each thread reads the next stretch of text, tokenises it and hands it over; none may be
/// more than a few stretches ahead of who takes them.
class TokenisedText {
 public:
  /// `width`: bytes of a token, 2 or 4.
  TokenisedText(const DataItem& item,
                const DataOptions& options,
                const Tokenizer& tokenizer,
                uint32_t width);
  TokenisedText(const TokenisedText&) = delete;
  TokenisedText& operator=(const TokenisedText&) = delete;
  ~TokenisedText();

  /// The next piece; false at the end. Throws what reading or tokenising it threw, and Stopped.
  bool next(StorePiece& piece);
  /// Where the last piece came from, and the share of all bytes up to there.
  const std::string& file() const { return file_; }
  double share() const { return share_; }
  /// Cuts of long lines, at the end.
  int64_t cuts() const { return cuts_; }

 private:
  struct Stretch {
    std::string text;                  // lines one behind another
    std::vector<std::size_t> ends;     // of the lines in it
    std::vector<std::size_t> borders;  // a new document begins before these lines
    std::string file;
    double share = 0;
  };
  struct Result {
    StorePiece piece;
    std::string file;
    double share = 0;
    std::exception_ptr failure;
  };

  void work();
  Stretch read();
  StorePiece tokenise(const Stretch& stretch) const;
  void put_tokens(const std::vector<int32_t>& ids, StorePiece& piece) const;

  const Tokenizer& tokenizer_;
  SentenceBorder border_;
  uint32_t width_;
  std::string file_;
  double share_ = 0;
  int64_t cuts_ = 0;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  TextReader reader_;
  std::map<int64_t, Result> ready_;
  int64_t read_ = 0;   // stretches that were read
  int64_t taken_ = 0;  // and given by `next`
  int64_t window_ = 1;
  bool is_ended_ = false;
  bool is_cancelled_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::data
