#include "data/store/tokenise.h"

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "data/store/store_cache.h"
#include "data/text/sentences.h"

namespace weft::data {

namespace {

constexpr std::size_t kStretch = std::size_t{1}
                                 << 19;  // bytes of text, at least; a line more at most
constexpr std::chrono::milliseconds kStopPeriod{50};

}  // namespace

TokenisedText::TokenisedText(const DataItem& item,
                             const DataOptions& options,
                             const Tokenizer& tokenizer,
                             uint32_t width)
    : tokenizer_(tokenizer), border_(options.sentence), width_(width), reader_(item, options) {
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

TokenisedText::~TokenisedText() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) {
    thread.join();
  }
}

bool TokenisedText::next(StorePiece& piece) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] {
    return ready_.contains(taken_) || (is_ended_ && taken_ == read_);
  };
  do {
    leave_if_stopped("tokenising");
  } while (!changed_.wait_for(lock, kStopPeriod, is_ready));
  if (taken_ == read_) {
    cuts_ = reader_.cuts();
    return false;
  }
  Result result = std::move(ready_.extract(taken_).mapped());
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  if (result.failure) {
    std::rethrow_exception(result.failure);
  }
  piece = std::move(result.piece);
  file_ = std::move(result.file);
  share_ = result.share;
  return true;
}

void TokenisedText::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_cancelled_ || is_ended_ || read_ - taken_ < window_; });
    if (is_cancelled_ || is_ended_) {
      return;
    }
    Result result;
    Stretch stretch;
    try {
      stretch = read();
    } catch (...) {
      result.failure = std::current_exception();
      is_ended_ = true;
    }
    if (stretch.ends.empty() && !result.failure) {
      is_ended_ = true;
      changed_.notify_all();
      return;
    }
    const int64_t number = read_++;
    lock.unlock();
    if (!result.failure) {
      result.file = std::move(stretch.file);
      result.share = stretch.share;
      try {
        result.piece = tokenise(stretch);
      } catch (...) {
        result.failure = std::current_exception();
      }
    }
    stretch = {};
    lock.lock();
    is_ended_ = is_ended_ || result.failure;
    ready_.emplace(number, std::move(result));
    changed_.notify_all();
  }
}

TokenisedText::Stretch TokenisedText::read() {
  Stretch stretch;
  stretch.text.reserve(kStretch + kStretch / 8);
  for (TextLine line; stretch.text.size() < kStretch && reader_.next(line);) {
    if (line.begins_document) {
      stretch.borders.push_back(stretch.ends.size());
    }
    stretch.text += line.text;
    stretch.ends.push_back(stretch.text.size());
  }
  stretch.file = reader_.file();
  stretch.share = reader_.share();
  return stretch;
}

StorePiece TokenisedText::tokenise(const Stretch& stretch) const {
  StorePiece piece;
  std::vector<int32_t> ids;
  const auto visit = [&](std::string_view sentence) {
    ids.clear();
    tokenizer_.encode(sentence, ids);
    if (!ids.empty()) {
      put_tokens(ids, piece);
      piece.lengths.push_back(static_cast<uint32_t>(ids.size()));
    }
  };
  auto border = stretch.borders.begin();
  std::size_t begin = 0;
  for (std::size_t line = 0; line < stretch.ends.size(); ++line) {
    if (border != stretch.borders.end() && *border == line) {
      piece.borders.push_back(piece.lengths.size());
      ++border;
    }
    const auto whole = std::string_view(stretch.text).substr(begin, stretch.ends[line] - begin);
    begin = stretch.ends[line];
    if (utf8::first_invalid(whole)) {
      ++piece.repaired;
      visit_sentences(utf8::repaired(whole), border_, visit);
    } else {
      visit_sentences(whole, border_, visit);
    }
  }
  return piece;
}

void TokenisedText::put_tokens(const std::vector<int32_t>& ids, StorePiece& piece) const {
  const int64_t size = tokenizer_.size();
  for (const int32_t id : ids) {
    if (id < 0 || id >= size) {
      throw std::logic_error(text("the tokenizer gave the id ", id, ", but has only ", size));
    }
  }
  append_tokens(ids, width_, piece.tokens);
}

}  // namespace weft::data
