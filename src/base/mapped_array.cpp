#include "base/mapped_array.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/string_util.h"
#include "base/system_calls.h"

namespace weft {

namespace {

constexpr std::size_t kLeastBytes = std::size_t{1} << 16;
constexpr std::size_t kMostGrowth = std::size_t{1} << 29;

std::string mapped_array_path(const std::string& directory) {
  static std::atomic<int64_t> number = 0;
  return str_cat(directory, "/", ::getpid(), "-", number++, ".tmp");
}

}  // namespace

MappedBytes::MappedBytes(const std::string& directory)
    : file_(std::make_unique<FileDescriptor>(mapped_array_path(directory),
                                             O_RDWR | O_CREAT | O_EXCL)) {
  if (system_calls::remove(file_->path()) != 0) {
    throw_errno(file_->path(), "remove");
  }
}

MappedBytes::MappedBytes(MappedBytes&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

MappedBytes::~MappedBytes() {
  if (data_ != nullptr) {
    ::munmap(data_, capacity_);
  }
}

void MappedBytes::reserve(std::size_t bytes) {
  if (bytes <= capacity_) {
    return;
  }
  const auto size = std::max(
      {bytes, kLeastBytes, capacity_ + std::min(std::max(capacity_, kLeastBytes), kMostGrowth)});
  // Without blocks on the disk, writing a page to a full disk would end the process.
  file_->allocate(static_cast<int64_t>(size));
  void* address = data_ == nullptr
                      ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_->get(), 0)
                      : ::mremap(data_, capacity_, size, MREMAP_MAYMOVE);
  if (address == MAP_FAILED) {
    throw_errno(file_->path(), "map into memory");
  }
  data_ = static_cast<std::byte*>(address);
  capacity_ = size;
}

}  // namespace weft
