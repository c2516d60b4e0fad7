#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_descriptor.h"

namespace weft {

MappedFile::MappedFile(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const FileDescriptor file(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw_errno(path, "read");
  }
  if (!S_ISREG(status.st_mode)) {
    throw FileError(path + ": cannot read: not a regular file" +
                    (S_ISDIR(status.st_mode) ? " but a directory" : ""));
  }
  if (status.st_size == 0) {
    return;
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    size_ = 0;
    throw_errno(path, "map into memory");
  }
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

void release_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const auto skipped = (page - address % page) % page;  // up to the first whole page
  if (bytes.size() >= skipped + page) {
    const auto pages = bytes.subspan(skipped, (bytes.size() - skipped) / page * page);
    ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
  }
}

}  // namespace weft
