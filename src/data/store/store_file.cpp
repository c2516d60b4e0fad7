#include "data/store/store_file.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <unistd.h>

#include "base/stop.h"
#include "base/string_util.h"
#include "data/error.h"
#include "formats/byte_source.h"

namespace weft::data {

namespace {

static_assert(std::endian::native == std::endian::little, "store files are little-endian");
static_assert(sizeof(StoreHeader) == 24 && sizeof(StoreFooter) == 56);

constexpr int64_t kAlignment = 8;
constexpr std::size_t kFooterCheckedBytes = offsetof(StoreFooter, footer_checksum);

int64_t padded(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

int64_t groups_of(int64_t entries) { return (entries + kOffsetGroup - 1) / kOffsetGroup; }

/// Size of a list of offsets in bytes.
int64_t list_bytes(int64_t entries) { return padded(entries * 4) + groups_of(entries) * 8; }

/// List of offsets in a mapped file.
class OffsetList {
 public:
  OffsetList() = default;
  OffsetList(const std::byte* bytes, int64_t entries)
      : remainders_(reinterpret_cast<const uint32_t*>(bytes)),
        bases_(reinterpret_cast<const int64_t*>(bytes + padded(entries * 4))) {}

  int64_t operator[](int64_t index) const {
    return bases_[index / kOffsetGroup] + remainders_[index];
  }

  /// Whether the list goes from 0 to `end` and never decreases. Group bases are checked first, so
  /// that the sums cannot overflow.
  bool is_monotonic(int64_t items, int64_t end) const {
    int64_t last = 0;
    for (int64_t index = 0; index <= items; ++index) {
      const int64_t base = bases_[index / kOffsetGroup];
      const bool is_valid = base >= 0 && base <= end && base + remainders_[index] >= last;
      if (!is_valid || (index == 0 && base + remainders_[index] != 0)) {
        return false;
      }
      last = base + remainders_[index];
    }
    return last == end;
  }

 private:
  const uint32_t* remainders_ = nullptr;
  const int64_t* bases_ = nullptr;
};

class StoreFile : public TokenStore {
 public:
  StoreFile(const std::string& path, uint32_t width, uint64_t key) : path_(path), file_(path) {
    check_header(width, key);
    check_footer();
    check_content();
    const std::byte* at = file_.bytes().data() + sizeof(StoreHeader);
    tokens_ = at;
    at += padded(footer_.tokens * header_.width);
    first_tokens_ = OffsetList(at, footer_.sentences + 1);
    at += list_bytes(footer_.sentences + 1);
    first_sentences_ = OffsetList(at, footer_.documents + 1);
    if (!first_tokens_.is_monotonic(footer_.sentences, footer_.tokens) ||
        !first_sentences_.is_monotonic(footer_.documents, footer_.sentences)) {
      fail("its lists do not match");
    }
    release_pages(file_.bytes());
  }

  int64_t documents() const override { return footer_.documents; }
  int64_t sentences() const override { return footer_.sentences; }
  int64_t tokens() const override { return footer_.tokens; }
  int64_t first_sentence(int64_t document) const override { return first_sentences_[document]; }
  int64_t first_token(int64_t sentence) const override { return first_tokens_[sentence]; }
  void read(int64_t begin, int64_t end, std::vector<int64_t>& ids) const override {
    record_read((end - begin) * header_.width);
    if (header_.width == 2) {
      const auto* const tokens = reinterpret_cast<const uint16_t*>(tokens_);
      ids.insert(ids.end(), tokens + begin, tokens + end);
    } else {
      const auto* const tokens = reinterpret_cast<const uint32_t*>(tokens_);
      ids.insert(ids.end(), tokens + begin, tokens + end);
    }
  }
  uint64_t fingerprint() const override { return header_.key; }
  const std::string& path() const override { return path_; }
  int64_t largest_token() const override { return largest_; }
  const StoreFooter& footer() const { return footer_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(path_ + ": a damaged token store: " + what);
  }

  void check_header(uint32_t width, uint64_t key) {
    const auto bytes = file_.bytes();
    if (bytes.size() < sizeof(StoreHeader) + sizeof(StoreFooter)) {
      fail(str_cat("only ", bytes.size(), " bytes"));
    }
    std::memcpy(&header_, bytes.data(), sizeof(header_));
    const StoreHeader expected{.width = width, .key = key};
    if (std::memcmp(&header_, &expected, sizeof(header_)) != 0) {
      fail("wrong header");
    }
  }

  void check_footer() {
    const auto bytes = file_.bytes();
    std::memcpy(&footer_, bytes.data() + bytes.size() - sizeof(footer_), sizeof(footer_));
    constexpr auto kMost = int64_t{1} << 56;  // sums of sizes stay far from overflow
    const bool is_valid = digest(&footer_, kFooterCheckedBytes) == footer_.footer_checksum &&
                          footer_.tokens >= 0 && footer_.tokens < kMost && footer_.sentences >= 0 &&
                          footer_.sentences < kMost && footer_.documents >= 0 &&
                          footer_.documents <= footer_.sentences;
    if (!is_valid || static_cast<int64_t>(bytes.size()) !=
                         static_cast<int64_t>(sizeof(StoreHeader)) +
                             padded(footer_.tokens * header_.width) +
                             list_bytes(footer_.sentences + 1) + list_bytes(footer_.documents + 1) +
                             static_cast<int64_t>(sizeof(StoreFooter))) {
      fail("wrong footer");
    }
  }

  /// Releases pages after reading them, so that a store larger than memory does not count as memory
  /// in use.
  void check_content() {
    const auto content = file_.bytes().first(file_.bytes().size() - sizeof(StoreFooter));
    const auto tokens = content.subspan(sizeof(StoreHeader),
                                        static_cast<std::size_t>(footer_.tokens * header_.width));
    uint64_t sum = 0;
    for (std::size_t at = 0; at < content.size(); at += BlockDigest::kBlock) {
      throw_if_stopped("reading the token store");
      const auto block = content.subspan(at, std::min(BlockDigest::kBlock, content.size() - at));
      sum = digest(block.data(), block.size(), sum);
      if (at < tokens.size()) {
        const auto part = tokens.subspan(at, std::min(BlockDigest::kBlock, tokens.size() - at));
        largest_ = std::max(
            largest_, header_.width == 2 ? largest_in<uint16_t>(part) : largest_in<uint32_t>(part));
      }
      release_pages(block);
    }
    if (sum != footer_.checksum) {
      fail("wrong checksum");
    }
  }

  template <class Number>
  static int64_t largest_in(std::span<const std::byte> bytes) {
    const auto* const numbers = reinterpret_cast<const Number*>(bytes.data());
    Number largest = 0;
    for (std::size_t index = 0; index < bytes.size() / sizeof(Number); ++index) {
      largest = std::max(largest, numbers[index]);
    }
    return bytes.empty() ? -1 : static_cast<int64_t>(largest);
  }

  /// Pages that were read stay resident until released: all are released regularly, to bound the
  /// resident memory of stores larger than RAM. Concurrent readers just fault their pages in again.
  void record_read(int64_t bytes) const {
    constexpr int64_t kMappedAround = int64_t{1} << 16;  // by one page fault
    constexpr int64_t kMaxResident = int64_t{64} << 20;
    if (resident_.fetch_add(bytes + kMappedAround, std::memory_order_relaxed) > kMaxResident) {
      resident_.store(0, std::memory_order_relaxed);
      release_pages(file_.bytes());
    }
  }

  std::string path_;
  MappedFile file_;
  int64_t largest_ = -1;
  mutable std::atomic<int64_t> resident_{0};  // approximate bytes read since pages were released
  StoreHeader header_;
  StoreFooter footer_;
  const std::byte* tokens_ = nullptr;
  OffsetList first_tokens_;
  OffsetList first_sentences_;
};

}  // namespace

void BlockDigest::add(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const std::size_t part = std::min(count, kBlock - block_.size());
    block_.append(at, part);
    at += part;
    count -= part;
    if (block_.size() == kBlock) {
      digest_ = digest(block_, digest_);
      block_.clear();
    }
  }
}

uint64_t BlockDigest::value() const { return block_.empty() ? digest_ : digest(block_, digest_); }

OffsetSpill::OffsetSpill(std::string path)
    : path_(std::move(path)), file_(path_, FileWriter::Mode::kPlain) {}

OffsetSpill::~OffsetSpill() {
  try {
    remove_tree(path_);
  } catch (const FileError&) {
    // A later build removes the leftovers.
  }
}

void OffsetSpill::add(int64_t offset) {
  if (size_ % kOffsetGroup == 0) {
    bases_.push_back(offset);
  }
  const int64_t remainder = offset - bases_.back();
  if (remainder > std::numeric_limits<uint32_t>::max()) {
    throw Error(str_cat(
        path_, ": ", kOffsetGroup,
        " documents with more than 4 billion sentences or tokens do not fit into one token store"));
  }
  const auto entry = static_cast<uint32_t>(remainder);
  file_.write(&entry, sizeof(entry));
  ++size_;
}

template <class Write>
void OffsetSpill::finish(const Write& write) {
  file_.flush();
  const auto entries = formats::open_bytes(path_);
  std::vector<char> block(BlockDigest::kBlock);
  while (const std::size_t count = entries->read(block.data(), block.size())) {
    write(block.data(), count);
  }
  const int64_t zero = 0;
  write(&zero, static_cast<std::size_t>(padded(size_ * 4) - size_ * 4));
  write(bases_.data(), bases_.size() * sizeof(int64_t));
}

StoreWriter::StoreWriter(const std::string& path, uint32_t width, uint64_t key)
    : width_(width),
      file_(path),
      sentences_(str_cat(path, ".sentences-", getpid())),
      documents_(str_cat(path, ".documents-", getpid())) {
  const StoreHeader header{.width = width, .key = key};
  write(&header, sizeof(header));
}

void StoreWriter::write(const void* bytes, std::size_t count) {
  digest_.add(bytes, count);
  file_.write(bytes, count);
}

void StoreWriter::add(const StoreChunk& chunk) {
  write(chunk.tokens.data(), chunk.tokens.size());
  auto boundary = chunk.boundaries.begin();
  for (std::size_t sentence = 0; sentence < chunk.lengths.size(); ++sentence) {
    for (; boundary != chunk.boundaries.end() && *boundary == sentence; ++boundary) {
      begins_document_ = true;
    }
    if (begins_document_) {
      documents_.add(footer_.sentences);
      ++footer_.documents;
      begins_document_ = false;
    }
    sentences_.add(footer_.tokens);
    footer_.tokens += chunk.lengths[sentence];
    ++footer_.sentences;
  }
  begins_document_ = begins_document_ || boundary != chunk.boundaries.end();
  footer_.repaired += chunk.repaired;
}

void StoreWriter::finish(int64_t line_splits) {
  const int64_t zero = 0;
  const int64_t bytes = footer_.tokens * width_;
  write(&zero, static_cast<std::size_t>(padded(bytes) - bytes));
  sentences_.add(footer_.tokens);
  documents_.add(footer_.sentences);
  const auto append = [this](const void* part, std::size_t count) { write(part, count); };
  sentences_.finish(append);
  documents_.finish(append);
  footer_.line_splits = line_splits;
  footer_.checksum = digest_.value();
  footer_.footer_checksum = digest(&footer_, kFooterCheckedBytes);
  file_.write(&footer_, sizeof(footer_));
  file_.commit();
}

std::shared_ptr<const TokenStore> open_store_file(const std::string& path,
                                                  uint32_t width,
                                                  uint64_t key,
                                                  StoreFooter& footer) {
  auto store = std::make_shared<const StoreFile>(path, width, key);
  footer = store->footer();
  return store;
}

}  // namespace weft::data
