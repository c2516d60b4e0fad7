#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace weft::formats {

/// A struct that names its fields, those of its bases included, for reading, writing and summing:
/// `static constexpr auto kFields = std::tuple(&Record::loss, ...)`. Fields are numbers, strings,
/// and arrays or vectors of them.
template <class T>
concept FieldRecord = requires {
  T::kFields;
};

/// Calls `visit` with each field of `record`, in the order of `kFields`.
template <class Record, class Visit>
void visit_fields(Record& record, const Visit& visit) {
  std::apply([&](const auto... fields) { (visit(record.*fields), ...); },
             std::remove_const_t<Record>::kFields);
}

/// Writes values exactly, every bit of a number: a header with a version and a kind, the values,
/// and a checksum. For processes of one machine type: numbers have the native byte order.
class BinaryWriter {
 public:
  /// `kind`: what is written; only a reader of the same kind accepts it.
  explicit BinaryWriter(std::string_view kind);

  template <class T>
  void write(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    } else if constexpr (FieldRecord<T>) {
      visit_fields(value, [this](const auto& field) { this->write(field); });
    } else {
      write(uint64_t{value.size()});
      for (const auto& element : value) {
        write(element);
      }
    }
  }

  /// Returns the bytes; the writer is empty afterwards.
  std::string finish();

 private:
  std::string bytes_;
};

/// Reads the values of a BinaryWriter in the same order. All functions throw Error for bytes of
/// another format, version or kind, and for damaged ones.
class BinaryReader {
 public:
  /// `bytes` must outlive the reader.
  BinaryReader(std::string_view bytes, std::string_view kind);

  template <class T>
  T read() {
    T value{};
    if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    } else if constexpr (FieldRecord<T>) {
      visit_fields(value, [this](auto& field) {
        field = this->template read<std::decay_t<decltype(field)>>();
      });
    } else {
      const auto size = read_size();
      if constexpr (requires { value.resize(size); }) {
        value.resize(size);
      } else {
        require(size == value.size());
      }
      for (auto& element : value) {
        element = read<typename T::value_type>();
      }
    }
    return value;
  }

  /// Throws Error unless everything was read.
  void finish() const { require(rest_.empty()); }

 private:
  std::string_view take(std::size_t size);
  /// Number of elements that follow, each of at least one byte.
  std::size_t read_size();
  void require(bool is_valid) const;

  std::string kind_;
  std::string_view rest_;
};

}  // namespace weft::formats
