#include "data/rows/parallel_text.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "data/rows/labelled_rows.h"
#include "data/rows/parallel_reader.h"
#include "data/store/store_cache.h"
#include "formats/table.h"

namespace weft::data {

namespace {

constexpr std::chrono::milliseconds kParallelProgressPeriod{100};
constexpr int64_t kTextsAtOnce = 16384;  // of both sides
constexpr int64_t kTextsOfPiece = 256;

/// Hash of all that decides what is in the store.
uint64_t parallel_key_of(const DataItem& item,
                         const std::string& prefix,
                         const Tokenizer& tokenizer) {
  std::string facts = text("parallel token store ", kStoreVersion, " tokenizer ",
                           hex(tokenizer.fingerprint()), " prefix ", prefix.size(), ":", prefix);
  const auto add = [&](const std::string& file) {
    leave_if_stopped("reading the texts");
    facts += text("\nfile ", hex(digest_file(file)), file.ends_with(".gz") ? " gz" : "");
  };
  for (std::size_t i = 0; i < item.files.size(); ++i) {
    add(item.files[i]);
    if (!item.target_files.empty()) {
      facts += " lines";
      add(item.target_files[std::min(i, item.target_files.size() - 1)]);
    } else if (const auto kind = formats::table_kind(item.files[i])) {
      const auto source = source_column(item);
      const auto target = target_column(item);
      facts += text(" table ", static_cast<int>(*kind), " ", source.size(), ":", source, " ",
                    target.size(), ":", target);
    }
  }
  return digest(facts);
}

/// Sources and targets by turns.
struct ParallelStretch {
  TextList texts;
  std::vector<std::size_t> borders;  // first texts of files
  int64_t repaired = 0;
};

void add_text(std::string_view text, ParallelStretch& stretch) {
  if (utf8::first_invalid(text)) {
    ++stretch.repaired;
    stretch.texts.add(utf8::repaired(text));
  } else {
    stretch.texts.add(text);
  }
}

ParallelStretch read_stretch(ParallelReader& reader, const std::string& prefix) {
  ParallelStretch stretch;
  std::string source;
  for (TextPairView pair; stretch.texts.size() < kTextsAtOnce && reader.next(pair);) {
    if (pair.begins_file) {
      stretch.borders.push_back(static_cast<std::size_t>(stretch.texts.size()));
    }
    // A prefix makes no text of none.
    source.assign(pair.source.empty() ? std::string_view() : std::string_view(prefix));
    source += pair.source;
    add_text(source, stretch);
    add_text(pair.target, stretch);
  }
  return stretch;
}

/// `texts`: sources and targets by turns.
StorePiece tokenised(const TextList& texts, const Tokenizer& tokenizer, uint32_t width) {
  const int64_t count = (texts.size() + kTextsOfPiece - 1) / kTextsOfPiece;
  std::vector<StorePiece> pieces(static_cast<std::size_t>(count));
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> ids;
    for (int64_t number = begin; number < end; ++number) {
      auto& piece = pieces[static_cast<std::size_t>(number)];
      const int64_t last = std::min((number + 1) * kTextsOfPiece, texts.size());
      for (int64_t i = number * kTextsOfPiece; i < last; ++i) {
        ids.clear();
        (i % 2 == 0 ? tokenizer : tokenizer.target()).encode(texts.at(i), ids);
        append_tokens(ids, width, piece.tokens);
        piece.lengths.push_back(static_cast<uint32_t>(ids.size()));
      }
    }
  });
  StorePiece all;
  for (const auto& piece : pieces) {
    all.tokens += piece.tokens;
    all.lengths.insert(all.lengths.end(), piece.lengths.begin(), piece.lengths.end());
  }
  return all;
}

}  // namespace

ParallelText::ParallelText(std::shared_ptr<const TokenStore> store,
                           std::vector<std::string> files,
                           bool cuts_begin)
    : store_(std::move(store)), files_(std::move(files)), cuts_begin_(cuts_begin) {}

void ParallelText::read_source(int64_t pair, int64_t most, std::vector<int64_t>& ids) const {
  read(2 * pair, most, ids);
}

void ParallelText::read_target(int64_t pair, int64_t most, std::vector<int64_t>& ids) const {
  read(2 * pair + 1, most, ids);
}

void ParallelText::read(int64_t sentence, int64_t most, std::vector<int64_t>& ids) const {
  const int64_t kept = std::min(most, size_of(sentence));
  const int64_t begin =
      cuts_begin_ ? store_->first_token(sentence + 1) - kept : store_->first_token(sentence);
  store_->read(begin, begin + kept, ids);
}

std::string ParallelText::place(int64_t pair) const {
  int64_t file = 0;
  while (file + 1 < store_->documents() && store_->first_sentence(file + 1) <= 2 * pair) {
    ++file;
  }
  return parallel_place(files_.at(static_cast<std::size_t>(file)),
                        pair - store_->first_sentence(file) / 2);
}

std::shared_ptr<const ParallelText> open_parallel_text(const DataItem& item,
                                                       const DataOptions& options,
                                                       const std::string& prefix,
                                                       const Tokenizer& tokenizer,
                                                       const ProgressVisitor& progress,
                                                       std::vector<std::string>& remarks) {
  const uint32_t width = std::max(token_width(tokenizer), token_width(tokenizer.target()));
  const uint64_t key = parallel_key_of(item, prefix, tokenizer);
  const auto build = [&](const std::string& path) {
    StoreWriter writer(path, width, key);
    ParallelReader reader(item);
    auto shown = std::chrono::steady_clock::now() - kParallelProgressPeriod;
    for (auto stretch = read_stretch(reader, prefix); stretch.texts.size() > 0;
         stretch = read_stretch(reader, prefix)) {
      leave_if_stopped("tokenising");
      auto piece = tokenised(stretch.texts, tokenizer, width);
      piece.borders = stretch.borders;
      piece.repaired = stretch.repaired;
      writer.add(piece);
      const auto now = std::chrono::steady_clock::now();
      if (progress && now - shown >= kParallelProgressPeriod) {
        const auto name = std::filesystem::path(reader.file()).filename().string();
        progress({.doing = "tokenising " + name, .share = reader.share()});
        shown = now;
      }
    }
    writer.finish(0);
  };
  const auto found = cached_store(options, width, key, build, remarks);
  if (found.foot.repaired > 0) {
    remarks.push_back(text(item.path, ": ", with_commas(found.foot.repaired),
                           found.foot.repaired == 1 ? " text that is" : " texts that are",
                           " not UTF-8, read with U+FFFD for the bytes that are wrong"));
  }
  return std::make_shared<ParallelText>(found.store, item.files, tokenizer.cuts_begin());
}

}  // namespace weft::data
