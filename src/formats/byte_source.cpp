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
#include <zstd.h>

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

/// Decompresses Zstandard, frame by frame.
class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path), packed_(path), buffer_(ZSTD_DStreamInSize()), stream_(ZSTD_createDStream()) {
    if (!stream_) {
      throw Error(path_ + ": not enough memory to decompress it");
    }
  }

  std::size_t read(char* bytes, std::size_t size) override {
    ZSTD_outBuffer output{bytes, size, 0};
    while (output.pos == 0 && output.size > 0) {
      if (input_.pos == input_.size && !is_output_pending_ && !fill()) {
        if (is_inside_) {
          fail(consumed() == 0 ? "is empty" : "is truncated");
        }
        break;
      }
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(status) != 0) {
        fail(str_cat("is damaged (", ZSTD_getErrorName(status), ")"));
      }
      is_inside_ = status != 0;
      is_output_pending_ = output.pos == output.size;
    }
    return output.pos;
  }
  int64_t consumed() const override {
    return packed_.consumed() - static_cast<int64_t>(input_.size - input_.pos);
  }
  int64_t total() const override { return packed_.total(); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  bool fill() {
    input_ = {buffer_.data(), packed_.read(buffer_.data(), buffer_.size()), 0};
    return input_.size > 0;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(str_cat(path_, ": the zstd data ", what, " at byte ", consumed()));
  }

  std::string path_;
  PlainSource packed_;
  std::vector<char> buffer_;
  ZSTD_inBuffer input_{};
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool is_inside_ = true;           // inside a frame, or before the first
  bool is_output_pending_ = false;  // the decoder may hold more than fitted in the last read
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  const auto compression = compression_of(path);
  if (compression == ".gz") {
    return std::make_unique<GzipSource>(path);
  }
  if (compression == ".zst") {
    return std::make_unique<ZstdSource>(path);
  }
  return std::make_unique<PlainSource>(path);
}

std::string_view compression_of(std::string_view path) {
  for (const std::string_view extension : {".gz", ".zst"}) {
    if (path.ends_with(extension)) {
      return extension;
    }
  }
  return {};
}

std::string_view without_compression(std::string_view path) {
  path.remove_suffix(compression_of(path).size());
  return path;
}

}  // namespace weft::formats
