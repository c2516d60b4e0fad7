#include "data/store/store_file.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "base/stop.h"
#include "base/text.h"
#include "data/error.h"
#include "formats/byte_source.h"

namespace weft::data {

namespace {

static_assert(std::endian::native == std::endian::little, "stores are mapped as they lie");
static_assert(sizeof(StoreHead) == 24 && sizeof(StoreFoot) == 56);

constexpr int64_t kAlignment = 8;
constexpr std::size_t kOwnChecked = offsetof(StoreFoot, own_checksum);

int64_t padded(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

int64_t groups_of(int64_t entries) { return (entries + kOffsetGroup - 1) / kOffsetGroup; }

/// Bytes of a list of offsets.
int64_t list_bytes(int64_t entries) { return padded(entries * 4) + groups_of(entries) * 8; }

/// A list of offsets in a mapped file.
class OffsetList {
 public:
  OffsetList() = default;
  OffsetList(const std::byte* bytes, int64_t entries)
      : rest_(reinterpret_cast<const uint32_t*>(bytes)),
        bases_(reinterpret_cast<const int64_t*>(bytes + padded(entries * 4))) {}

  int64_t operator[](int64_t index) const { return bases_[index / kOffsetGroup] + rest_[index]; }

  /// Whether the list goes from 0 to `end` and never falls. Nobody asks about sums that overflow:
  /// groups are looked at first.
  bool rises(int64_t items, int64_t end) const {
    int64_t last = 0;
    for (int64_t index = 0; index <= items; ++index) {
      const int64_t base = bases_[index / kOffsetGroup];
      const bool is_sane = base >= 0 && base <= end && base + rest_[index] >= last;
      if (!is_sane || (index == 0 && base + rest_[index] != 0)) {
        return false;
      }
      last = base + rest_[index];
    }
    return last == end;
  }

 private:
  const uint32_t* rest_ = nullptr;
  const int64_t* bases_ = nullptr;
};

class StoreFile : public TokenStore {
 public:
  StoreFile(const std::string& path, uint32_t width, uint64_t key) : path_(path), file_(path) {
    check_head(width, key);
    check_foot();
    check_content();
    const std::byte* at = file_.bytes().data() + sizeof(StoreHead);
    tokens_ = at;
    at += padded(foot_.tokens * head_.width);
    first_tokens_ = OffsetList(at, foot_.sentences + 1);
    at += list_bytes(foot_.sentences + 1);
    first_sentences_ = OffsetList(at, foot_.documents + 1);
    if (!first_tokens_.rises(foot_.sentences, foot_.tokens) ||
        !first_sentences_.rises(foot_.documents, foot_.sentences)) {
      fail("its lists do not fit each other");
    }
    give_back(file_.bytes());
  }

  int64_t documents() const override { return foot_.documents; }
  int64_t sentences() const override { return foot_.sentences; }
  int64_t tokens() const override { return foot_.tokens; }
  int64_t first_sentence(int64_t document) const override { return first_sentences_[document]; }
  int64_t first_token(int64_t sentence) const override { return first_tokens_[sentence]; }
  void read(int64_t begin, int64_t end, std::vector<int64_t>& ids) const override {
    count_pages((end - begin) * head_.width);
    if (head_.width == 2) {
      const auto* const tokens = reinterpret_cast<const uint16_t*>(tokens_);
      ids.insert(ids.end(), tokens + begin, tokens + end);
    } else {
      const auto* const tokens = reinterpret_cast<const uint32_t*>(tokens_);
      ids.insert(ids.end(), tokens + begin, tokens + end);
    }
  }
  uint64_t fingerprint() const override { return head_.key; }
  const std::string& path() const override { return path_; }
  int64_t largest_token() const override { return largest_; }
  const StoreFoot& foot() const { return foot_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(path_ + ": a damaged token store: " + what);
  }

  void check_head(uint32_t width, uint64_t key) {
    const auto bytes = file_.bytes();
    if (bytes.size() < sizeof(StoreHead) + sizeof(StoreFoot)) {
      fail(text("only ", bytes.size(), " bytes"));
    }
    std::memcpy(&head_, bytes.data(), sizeof(head_));
    const StoreHead expected{.width = width, .key = key};
    if (std::memcmp(&head_, &expected, sizeof(head_)) != 0) {
      fail("it does not begin as it should");
    }
  }

  void check_foot() {
    const auto bytes = file_.bytes();
    std::memcpy(&foot_, bytes.data() + bytes.size() - sizeof(foot_), sizeof(foot_));
    constexpr auto kMost = int64_t{1} << 56;  // sums of sizes stay far from overflow
    const bool is_sane = digest(&foot_, kOwnChecked) == foot_.own_checksum && foot_.tokens >= 0 &&
                         foot_.tokens < kMost && foot_.sentences >= 0 && foot_.sentences < kMost &&
                         foot_.documents >= 0 && foot_.documents <= foot_.sentences;
    if (!is_sane || static_cast<int64_t>(bytes.size()) !=
                        static_cast<int64_t>(sizeof(StoreHead)) +
                            padded(foot_.tokens * head_.width) + list_bytes(foot_.sentences + 1) +
                            list_bytes(foot_.documents + 1) +
                            static_cast<int64_t>(sizeof(StoreFoot))) {
      fail("it does not end as it should");
    }
  }

  /// Pages are handed back as they are read, so that a store larger than memory does not show up as
  /// memory in use.
  void check_content() {
    const auto content = file_.bytes().first(file_.bytes().size() - sizeof(StoreFoot));
    const auto tokens =
        content.subspan(sizeof(StoreHead), static_cast<std::size_t>(foot_.tokens * head_.width));
    uint64_t sum = 0;
    for (std::size_t at = 0; at < content.size(); at += BlockDigest::kBlock) {
      leave_if_stopped("reading the token store");
      const auto block = content.subspan(at, std::min(BlockDigest::kBlock, content.size() - at));
      sum = digest(block.data(), block.size(), sum);
      if (at < tokens.size()) {
        const auto part = tokens.subspan(at, std::min(BlockDigest::kBlock, tokens.size() - at));
        largest_ = std::max(
            largest_, head_.width == 2 ? largest_in<uint16_t>(part) : largest_in<uint32_t>(part));
      }
      give_back(block);
    }
    if (sum != foot_.checksum) {
      fail("its checksum is wrong");
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

  /// Pages that were read stay resident until they are given back: every so often all are, so that
  /// a run holds a bounded part of a store larger than memory. Who reads meanwhile maps his again.
  void count_pages(int64_t bytes) const {
    constexpr int64_t kMappedAround = int64_t{1} << 16;  // by one fault
    constexpr int64_t kMostResident = int64_t{64} << 20;
    if (resident_.fetch_add(bytes + kMappedAround, std::memory_order_relaxed) > kMostResident) {
      resident_.store(0, std::memory_order_relaxed);
      give_back(file_.bytes());
    }
  }

  static void give_back(std::span<const std::byte> pages) {
    madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
  }

  std::string path_;
  MappedFile file_;
  int64_t largest_ = -1;
  mutable std::atomic<int64_t> resident_{0};  // bytes read since pages were given back, about
  StoreHead head_;
  StoreFoot foot_;
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
    // A later build removes what is left.
  }
}

void OffsetSpill::add(int64_t offset) {
  if (size_ % kOffsetGroup == 0) {
    bases_.push_back(offset);
  }
  const int64_t rest = offset - bases_.back();
  if (rest > std::numeric_limits<uint32_t>::max()) {
    throw Error(
        text(path_, ": ", kOffsetGroup,
             " documents of more than 4 billion sentences or tokens are too many for one store"));
  }
  const auto entry = static_cast<uint32_t>(rest);
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
      sentences_(text(path, ".sentences-", getpid())),
      documents_(text(path, ".documents-", getpid())) {
  const StoreHead head{.width = width, .key = key};
  write(&head, sizeof(head));
}

void StoreWriter::write(const void* bytes, std::size_t count) {
  digest_.add(bytes, count);
  file_.write(bytes, count);
}

void StoreWriter::add(const StorePiece& piece) {
  write(piece.tokens.data(), piece.tokens.size());
  auto border = piece.borders.begin();
  for (std::size_t sentence = 0; sentence < piece.lengths.size(); ++sentence) {
    for (; border != piece.borders.end() && *border == sentence; ++border) {
      begins_document_ = true;
    }
    if (begins_document_) {
      documents_.add(foot_.sentences);
      ++foot_.documents;
      begins_document_ = false;
    }
    sentences_.add(foot_.tokens);
    foot_.tokens += piece.lengths[sentence];
    ++foot_.sentences;
  }
  begins_document_ = begins_document_ || border != piece.borders.end();
  foot_.repaired += piece.repaired;
}

void StoreWriter::finish(int64_t cuts) {
  const int64_t zero = 0;
  const int64_t bytes = foot_.tokens * width_;
  write(&zero, static_cast<std::size_t>(padded(bytes) - bytes));
  sentences_.add(foot_.tokens);
  documents_.add(foot_.sentences);
  const auto append = [this](const void* part, std::size_t count) { write(part, count); };
  sentences_.finish(append);
  documents_.finish(append);
  foot_.cuts = cuts;
  foot_.checksum = digest_.value();
  foot_.own_checksum = digest(&foot_, kOwnChecked);
  file_.write(&foot_, sizeof(foot_));
  file_.commit();
}

std::shared_ptr<const TokenStore> open_store_file(const std::string& path,
                                                  uint32_t width,
                                                  uint64_t key,
                                                  StoreFoot& foot) {
  auto store = std::make_shared<const StoreFile>(path, width, key);
  foot = store->foot();
  return store;
}

}  // namespace weft::data
