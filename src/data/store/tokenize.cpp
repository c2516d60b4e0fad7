#include "data/store/tokenize.h"

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "data/store/store_cache.h"
#include "data/text/text_source.h"

namespace weft::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1}
                                    << 19;  // minimum text bytes per block; at most one line more
constexpr std::chrono::milliseconds kStopPeriod{50};

}  // namespace

TokenizedTextStream::TokenizedTextStream(const DataItem& item,
                                         const DataOptions& options,
                                         const Tokenizer& tokenizer,
                                         uint32_t width,
                                         const StoreShare& share)
    : tokenizer_(tokenizer),
      boundary_(options.sentence),
      width_(width),
      share_(share),
      reader_(item, options) {
  const int threads = available_cores();
  window_ = 2 * threads + 2;
  try {
    for (int index = 0; index < threads; ++index) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      throw;
    }
  }
}

TokenizedTextStream::~TokenizedTextStream() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) {
    thread.join();
  }
}

bool TokenizedTextStream::next(StoreChunk& chunk) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] {
    return ready_.contains(taken_) || (is_finished_ && taken_ == read_);
  };
  do {
    throw_if_stopped("tokenising");
  } while (!changed_.wait_for(lock, kStopPeriod, is_ready));
  if (taken_ == read_) {
    line_splits_ = reader_.line_splits();
    return false;
  }
  Result result = std::move(ready_.extract(taken_).mapped());
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  if (result.failure) {
    std::rethrow_exception(result.failure);
  }
  chunk = std::move(result.chunk);
  file_ = std::move(result.file);
  fraction_read_ = result.fraction_read;
  return true;
}

void TokenizedTextStream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [this] { return is_cancelled_ || is_finished_ || read_ - taken_ < window_; });
    if (is_cancelled_ || is_finished_) {
      return;
    }
    Result result;
    TextBlock block;
    try {
      block = read();
    } catch (...) {
      result.failure = std::current_exception();
      is_finished_ = true;
    }
    if (block.ends.empty() && !result.failure) {
      is_finished_ = true;
      changed_.notify_all();
      return;
    }
    const int64_t number = read_++;
    lock.unlock();
    if (!result.failure) {
      result.file = std::move(block.file);
      result.fraction_read = block.fraction_read;
      try {
        result.chunk = share_.has(number) ? tokenize(block) : StoreChunk();
      } catch (...) {
        result.failure = std::current_exception();
      }
    }
    block = {};
    lock.lock();
    is_finished_ = is_finished_ || result.failure;
    ready_.emplace(number, std::move(result));
    changed_.notify_all();
  }
}

TokenizedTextStream::TextBlock TokenizedTextStream::read() {
  TextBlock block;
  block.text.reserve(kBlockBytes + kBlockBytes / 8);
  for (TextLine line; block.text.size() < kBlockBytes && reader_.next(line);) {
    if (line.begins_document) {
      block.boundaries.push_back(block.ends.size());
    }
    block.text += line.text;
    block.ends.push_back(block.text.size());
  }
  block.file = reader_.file();
  block.fraction_read = reader_.fraction_read();
  return block;
}

StoreChunk TokenizedTextStream::tokenize(const TextBlock& block) const {
  StoreChunk chunk;
  std::vector<int32_t> ids;
  const auto visit = [&](std::string_view sentence) {
    ids.clear();
    tokenizer_.encode(sentence, ids);
    if (!ids.empty()) {
      put_tokens(ids, chunk);
      chunk.lengths.push_back(static_cast<uint32_t>(ids.size()));
    }
  };
  auto boundary = block.boundaries.begin();
  std::size_t begin = 0;
  for (std::size_t line = 0; line < block.ends.size(); ++line) {
    if (boundary != block.boundaries.end() && *boundary == line) {
      chunk.boundaries.push_back(chunk.lengths.size());
      ++boundary;
    }
    const auto whole = std::string_view(block.text).substr(begin, block.ends[line] - begin);
    begin = block.ends[line];
    if (utf8::first_invalid(whole)) {
      ++chunk.repaired;
      visit_sentences(utf8::replace_invalid(whole), boundary_, visit);
    } else {
      visit_sentences(whole, boundary_, visit);
    }
  }
  return chunk;
}

void TokenizedTextStream::put_tokens(const std::vector<int32_t>& ids, StoreChunk& chunk) const {
  const int64_t size = tokenizer_.size();
  for (const int32_t id : ids) {
    if (id < 0 || id >= size) {
      throw std::logic_error(
          str_cat("the tokenizer returned the id ", id, ", but has only ", size));
    }
  }
  append_tokens(ids, width_, chunk.tokens);
}

}  // namespace weft::data
