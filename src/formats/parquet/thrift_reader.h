#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "formats/parquet/byte_reader.h"

namespace weft::formats {

/// Thrift's compact protocol. A field is read at most once; what is not read is skipped.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t remaining() const { return bytes_.rest().size(); }

  template <class OnField>
  void read_root(const OnField& on_field) {
    type_ = kStruct;
    read_struct(on_field);
  }

  /// Calls `on_field(id)` for each field.
  template <class OnField>
  void read_struct(const OnField& on_field) {
    begin(kStruct);
    int64_t id = 0;
    for (uint64_t head = bytes_.number(1); head != 0; head = bytes_.number(1)) {
      const auto step = static_cast<int64_t>(head >> 4);
      id = step != 0 ? id + step : static_cast<int16_t>(bytes_.zigzag());
      type_ = head & 0xF;
      on_field(id);
      skip();
    }
    --depth_;
  }

  /// Calls `on_item()` for each item.
  template <class OnItem>
  void read_list(const OnItem& on_item) {
    begin(kList);
    const uint64_t head = bytes_.number(1);
    const uint64_t size = head >> 4 == 0xF ? bytes_.varint() : head >> 4;
    const uint64_t type = head & 0xF;
    for (uint64_t item = 0; item < size; ++item) {
      type_ = type <= kFalse ? kByte : type;  // each boolean of a list is a byte
      on_item();
      skip();
    }
    --depth_;
  }

  int64_t integer() {
    if (type_ != kInt16 && type_ != kInt32 && type_ != kInt64) {
      fail_damaged("unexpected type in its metadata");
    }
    type_ = kNone;
    return bytes_.zigzag();
  }

  int64_t size() {
    const int64_t value = integer();
    if (value < 0) {
      fail_damaged("a negative size");
    }
    return value;
  }

  bool boolean() {
    if (type_ != kTrue && type_ != kFalse) {
      fail_damaged("unexpected type in its metadata");
    }
    return std::exchange(type_, kNone) == kTrue;
  }

  std::string_view text() {
    expect(kBinary);
    return bytes_.take(bytes_.varint());
  }

 private:
  static constexpr int kMaxNesting = 64;
  enum Type : uint64_t {
    kNone,
    kTrue,
    kFalse,
    kByte,
    kInt16,
    kInt32,
    kInt64,
    kDouble,
    kBinary,
    kList,
    kSet,
    kMap,
    kStruct
  };

  void expect(Type type) {
    if (type_ != type) {
      fail_damaged("unexpected type in its metadata");
    }
    type_ = kNone;
  }

  void begin(Type type) {
    expect(type);
    if (++depth_ > kMaxNesting) {
      fail_damaged("its metadata are nested too deeply");
    }
  }

  void skip() {
    switch (type_) {
      case kNone:
        return;
      case kTrue:
      case kFalse:
        break;
      case kByte:
        bytes_.take(1);
        break;
      case kInt16:
      case kInt32:
      case kInt64:
        bytes_.varint();
        break;
      case kDouble:
        bytes_.take(8);
        break;
      case kBinary:
        text();
        break;
      case kList:
        read_list([] {});
        break;
      case kStruct:
        read_struct([](int64_t) {});
        break;
      default:  // the format has no sets and maps
        fail_damaged("unexpected type in its metadata");
    }
    type_ = kNone;
  }

  ParquetBytes bytes_;
  uint64_t type_ = kNone;  // of the value that is next; none if it was read
  int depth_ = 0;
};

}  // namespace weft::formats
