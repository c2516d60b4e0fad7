#include "data/rows/parallel_text.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "data/remark.h"
#include "data/rows/labelled_rows.h"
#include "data/rows/parallel_reader.h"
#include "data/store/store_cache.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

constexpr std::chrono::milliseconds kParallelProgressPeriod{100};
constexpr int64_t kTextsPerBlock = 16384;  // sources and targets together
constexpr int64_t kTextsPerChunk = 256;

/// Hash of everything that affects the store.
uint64_t parallel_key_of(const DataItem& item,
                         const std::string& prefix,
                         const Tokenizer& tokenizer) {
  std::string facts =
      str_cat("parallel token store ", kStoreVersion, " tokenizer ",
              to_hex(tokenizer.fingerprint()), " prefix ", prefix.size(), ":", prefix);
  const auto add = [&](const std::string& file) {
    throw_if_stopped("reading the texts");
    facts += file_facts(file, item.table);
  };
  for (std::size_t i = 0; i < item.files.size(); ++i) {
    add(item.files[i]);
    if (!item.target_files.empty()) {
      facts += " lines";
      add(item.target_files[std::min(i, item.target_files.size() - 1)]);
    } else {
      const auto source = source_column(item);
      const auto target = target_column(item);
      facts += str_cat(" ", source.size(), ":", source, " ", target.size(), ":", target);
    }
  }
  return digest(facts);
}

/// Sources and targets, alternating.
struct ParallelStretch {
  TextList texts;
  std::vector<std::size_t> boundaries;  // first text of each file
  int64_t repaired = 0;
};

void add_text(std::string_view text, ParallelStretch& block) {
  if (utf8::first_invalid(text)) {
    ++block.repaired;
    block.texts.add(utf8::replace_invalid(text));
  } else {
    block.texts.add(text);
  }
}

ParallelStretch read_block(ParallelReader& reader, const std::string& prefix) {
  ParallelStretch block;
  std::string source;
  for (TextPairView pair; block.texts.size() < kTextsPerBlock && reader.next(pair);) {
    if (pair.begins_file) {
      block.boundaries.push_back(static_cast<std::size_t>(block.texts.size()));
    }
    // An empty text stays empty even with a prefix.
    source.assign(pair.source.empty() ? std::string_view() : std::string_view(prefix));
    source += pair.source;
    add_text(source, block);
    add_text(pair.target, block);
  }
  return block;
}

/// `texts`: sources and targets, alternating.
StoreChunk tokenize(const TextList& texts, const Tokenizer& tokenizer, uint32_t width) {
  const int64_t count = (texts.size() + kTextsPerChunk - 1) / kTextsPerChunk;
  std::vector<StoreChunk> chunks(static_cast<std::size_t>(count));
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> ids;
    for (int64_t number = begin; number < end; ++number) {
      auto& chunk = chunks[static_cast<std::size_t>(number)];
      const int64_t last = std::min((number + 1) * kTextsPerChunk, texts.size());
      for (int64_t i = number * kTextsPerChunk; i < last; ++i) {
        ids.clear();
        (i % 2 == 0 ? tokenizer : tokenizer.target()).encode(texts.at(i), ids);
        append_tokens(ids, width, chunk.tokens);
        chunk.lengths.push_back(static_cast<uint32_t>(ids.size()));
      }
    }
  });
  StoreChunk all;
  for (const auto& chunk : chunks) {
    all.tokens += chunk.tokens;
    all.lengths.insert(all.lengths.end(), chunk.lengths.begin(), chunk.lengths.end());
  }
  return all;
}

}  // namespace

ParallelText::ParallelText(std::shared_ptr<const TokenStore> store,
                           std::vector<std::string> files,
                           bool truncates_left)
    : store_(std::move(store)), files_(std::move(files)), truncates_left_(truncates_left) {}

void ParallelText::read_source(int64_t pair, int64_t max_tokens, std::vector<int64_t>& ids) const {
  read(2 * pair, max_tokens, ids);
}

void ParallelText::read_target(int64_t pair, int64_t max_tokens, std::vector<int64_t>& ids) const {
  read(2 * pair + 1, max_tokens, ids);
}

void ParallelText::read(int64_t sentence, int64_t max_tokens, std::vector<int64_t>& ids) const {
  const int64_t kept = std::min(max_tokens, size_of(sentence));
  const int64_t begin =
      truncates_left_ ? store_->first_token(sentence + 1) - kept : store_->first_token(sentence);
  store_->read(begin, begin + kept, ids);
}

std::string ParallelText::location(int64_t pair) const {
  int64_t file = 0;
  while (file + 1 < store_->documents() && store_->first_sentence(file + 1) <= 2 * pair) {
    ++file;
  }
  return parallel_location(files_.at(static_cast<std::size_t>(file)),
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
    auto last_shown = std::chrono::steady_clock::now() - kParallelProgressPeriod;
    for (auto block = read_block(reader, prefix); block.texts.size() > 0;
         block = read_block(reader, prefix)) {
      throw_if_stopped("tokenising");
      auto chunk = tokenize(block.texts, tokenizer, width);
      chunk.boundaries = block.boundaries;
      chunk.repaired = block.repaired;
      writer.add(chunk);
      const auto now = std::chrono::steady_clock::now();
      if (progress && now - last_shown >= kParallelProgressPeriod) {
        const auto name = std::filesystem::path(reader.file()).filename().string();
        progress({.activity = "tokenizing " + name, .fraction = reader.fraction_read()});
        last_shown = now;
      }
    }
    writer.finish(0);
  };
  const auto found = cached_store(options, width, key, build, remarks);
  add_remark(remarks, item.path, repaired_remark(found.footer.repaired, "text"));
  for (const auto& file : item.files) {
    if (item.target_files.empty()) {
      add_table_remarks(file, {source_column(item), target_column(item)}, item.table, remarks);
    }
  }
  return std::make_shared<ParallelText>(found.store, item.files, tokenizer.truncates_left());
}

}  // namespace weft::data
