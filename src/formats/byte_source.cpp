#include "formats/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/string_util.h"
#include "formats/error.h"

namespace weft::formats {

namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 18;

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::string path) : path_(std::move(path)) {
    descriptor_ = path_ == "-" ? STDIN_FILENO : open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) {
      fail("cannot be opened");
    }
    if (S_ISREG(facts.st_mode)) {
      total_ = facts.st_size;
      posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
  }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;
  ~PlainSource() override {
    if (descriptor_ > STDIN_FILENO) {
      close(descriptor_);
    }
  }

  std::size_t read(char* bytes, std::size_t size) override {
    ssize_t count = -1;
    do {
      count = ::read(descriptor_, bytes, size);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
      fail("cannot be read");
    }
    consumed_ += count;
    return static_cast<std::size_t>(count);
  }
  bool is_ready() const override {
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, 0) != 0;  // data, end or error
  }
  int64_t consumed() const override { return consumed_; }
  int64_t total() const override { return total_; }

 private:
  [[noreturn]] void fail(const char* what) const {
    const std::string reason = std::strerror(errno);
    throw Error(str_cat(path_ == "-" ? "standard input" : path_, ": ", what, ": ", reason));
  }

  std::string path_;
  int descriptor_ = -1;
  int64_t consumed_ = 0;
  int64_t total_ = -1;
};

/// Decompresses gzip, member by member. zlib's file API would ignore a truncated or garbage end.
class GzipSource : public ByteSource {
 public:
  explicit GzipSource(const std::string& path) : path_(path), packed_(path), input_(kPackedBytes) {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw Error(path_ + ": not enough memory to decompress it");
    }
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(char* bytes, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(bytes);
    const auto capacity =
        static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    stream_.avail_out = capacity;
    while (stream_.avail_out == capacity && begin_member()) {
      if (stream_.avail_in == 0 && !fill()) {
        fail("is truncated");
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        is_inside_ = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(str_cat("is damaged (", stream_.msg != nullptr ? stream_.msg : zError(status), ")"));
      }
    }
    return capacity - stream_.avail_out;
  }
  int64_t consumed() const override { return packed_.consumed() - stream_.avail_in; }
  int64_t total() const override { return packed_.total(); }

 private:
  bool fill() {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(packed_.read(input_.data(), input_.size()));
    return stream_.avail_in > 0;
  }

  /// Whether there is a member to read; false at the end of the file. Trailing zero bytes are
  /// allowed (tape padding).
  bool begin_member() {
    while (!is_inside_) {
      if (stream_.avail_in == 0 && !fill()) {
        if (members_ == 0) {
          fail("is empty");
        }
        return false;
      }
      if (members_ > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
        continue;
      }
      inflateReset(&stream_);
      is_inside_ = true;
      ++members_;
    }
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(str_cat(path_, ": the gzip data ", what, " at byte ", consumed()));
  }

  std::string path_;
  PlainSource packed_;
  std::vector<char> input_;
  z_stream stream_{};
  bool is_inside_ = false;  // inside a gzip member
  int64_t members_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  if (path.ends_with(".gz")) {
    return std::make_unique<GzipSource>(path);
  }
  return std::make_unique<PlainSource>(path);
}

}  // namespace weft::formats
