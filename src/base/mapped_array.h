#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "base/file_descriptor.h"

namespace weft {

/// Growable memory map of an unnamed temporary file: the system may write its pages to disk, so
/// that it can be larger than the memory. New bytes are zero.
class MappedBytes {
 public:
  /// Creates the file in this directory, where no name of it remains. Throws FileError.
  explicit MappedBytes(const std::string& directory);
  MappedBytes(MappedBytes&& other) noexcept;
  MappedBytes& operator=(MappedBytes&& other) noexcept;
  ~MappedBytes();

  std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }
  /// Grows to at least so many bytes; pointers into it become invalid. Throws FileError, also if
  /// the disk is full.
  void reserve(std::size_t bytes);

 private:
  std::unique_ptr<FileDescriptor> file_;
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// Array of trivial values in such a file.
template <class Value>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  explicit MappedArray(const std::string& directory) : bytes_(directory) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value* data() { return reinterpret_cast<Value*>(bytes_.data()); }
  const Value* data() const { return reinterpret_cast<const Value*>(bytes_.data()); }
  Value& operator[](std::size_t index) { return data()[index]; }
  const Value& operator[](std::size_t index) const { return data()[index]; }
  std::span<const Value> values() const { return {data(), size_}; }

  void push_back(Value value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void append(std::span<const Value> values) {
    reserve(size_ + values.size());
    std::copy(values.begin(), values.end(), data() + size_);
    size_ += values.size();
  }
  /// New values are zero, unless the array had been larger before.
  void resize(std::size_t size) {
    reserve(size);
    size_ = size;
  }

 private:
  void reserve(std::size_t size) {
    if (size * sizeof(Value) > bytes_.capacity()) {
      bytes_.reserve(size * sizeof(Value));
    }
  }

  MappedBytes bytes_;
  std::size_t size_ = 0;
};

}  // namespace weft
