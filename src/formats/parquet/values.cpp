#include "formats/parquet/values.h"

#include <algorithm>
#include <array>
#include <string>

namespace weft::formats {

namespace {

constexpr uint64_t kMaxIndexBits = 32;

/// Bytes of a number of a type; 0: not a number.
uint64_t number_width(ParquetType type) {
  switch (type) {
    case ParquetType::kInt32:
    case ParquetType::kFloat:
      return 4;
    case ParquetType::kInt64:
    case ParquetType::kDouble:
      return 8;
    case ParquetType::kBoolean:
    case ParquetType::kInt96:
    case ParquetType::kByteArray:
    case ParquetType::kFixedLengthByteArray:
      return 0;
  }
  return 0;
}

class PlainValues : public ParquetValueReader {
 public:
  explicit PlainValues(const ParquetValueSource& source)
      : bytes_(source.bytes), type_(source.type), width_(number_width(source.type)) {}

  ParquetValue next() override {
    if (type_ == ParquetType::kBoolean) {
      return {.bits = bits_at(bytes_.rest(), offset_++, 1), .text = {}};
    }
    return width_ > 0 ? ParquetValue{.bits = bytes_.number(width_), .text = {}}
                      : ParquetValue{.bits = 0, .text = bytes_.take(bytes_.number(4))};
  }

 private:
  ParquetBytes bytes_;
  ParquetType type_;
  uint64_t width_;
  uint64_t offset_ = 0;  // in bits, of the next boolean
};

class DictionaryValues : public ParquetValueReader {
 public:
  explicit DictionaryValues(const ParquetValueSource& source) : dictionary_(*source.dictionary) {
    ParquetBytes bytes(source.bytes);
    const uint64_t width = bytes.number(1);
    if (width > kMaxIndexBits) {
      fail_damaged("indices of more than 32 bits");
    }
    indices_ = ParquetRunReader(bytes.rest(), width);
  }

  ParquetValue next() override {
    const uint64_t index = indices_.next();
    if (index >= dictionary_.size()) {
      fail_damaged("a value that is not in the dictionary");
    }
    return dictionary_[index];
  }

 private:
  const std::vector<ParquetValue>& dictionary_;
  ParquetRunReader indices_;
};

class RunBooleans : public ParquetValueReader {
 public:
  explicit RunBooleans(const ParquetValueSource& source) {
    ParquetBytes bytes(source.bytes);
    runs_ = ParquetRunReader(bytes.take(bytes.number(4)), 1);
  }
  ParquetValue next() override { return {.bits = runs_.next(), .text = {}}; }

 private:
  ParquetRunReader runs_;
};

/// Numbers as differences from the previous one, in blocks of bit-packed miniblocks.
class DeltaNumbers : public ParquetValueReader {
 public:
  explicit DeltaNumbers(const ParquetValueSource& source) : bytes_(source.bytes) {
    constexpr uint64_t kMaxBlock = 1 << 20;
    const uint64_t block = bytes_.varint();
    miniblocks_ = bytes_.varint();
    left_ = bytes_.varint();
    value_ = static_cast<uint64_t>(bytes_.zigzag());
    if (block > kMaxBlock || miniblocks_ == 0 || block < miniblocks_ || block % miniblocks_ != 0 ||
        block / miniblocks_ % 8 != 0) {
      fail_damaged("blocks of an invalid size");
    }
    miniblock_size_ = used_ = block / miniblocks_;
  }

  ParquetValue next() override {
    if (left_ == 0) {
      fail_damaged("a page with too few values");
    }
    const uint64_t value = value_;
    if (--left_ > 0) {
      value_ += difference();
    }
    return {.bits = value, .text = {}};
  }

  /// The bytes after the numbers.
  std::string_view rest() const {
    auto scan = *this;
    while (scan.left_ > 0) {
      scan.next();
    }
    return scan.bytes_.rest();
  }

 private:
  uint64_t difference() {
    if (used_ == miniblock_size_) {
      if (widths_.empty()) {
        smallest_ = static_cast<uint64_t>(bytes_.zigzag());
        widths_ = bytes_.take(miniblocks_);
      }
      width_ = static_cast<unsigned char>(widths_.front());
      widths_.remove_prefix(1);
      if (width_ > 64) {
        fail_damaged("numbers of more than 64 bits");
      }
      packed_ = bytes_.take(std::min(bytes_.rest().size(), miniblock_size_ * width_ / 8));
      used_ = 0;
    }
    return smallest_ + bits_at(packed_, width_ * used_++, width_);
  }

  ParquetBytes bytes_;
  uint64_t miniblocks_ = 0;      // per block
  uint64_t miniblock_size_ = 0;  // values
  uint64_t left_ = 0;
  uint64_t value_ = 0;  // the next one
  uint64_t smallest_ = 0;
  std::string_view widths_;  // in bits, of the miniblocks that are left in the block
  uint64_t width_ = 0;
  std::string_view packed_;  // the miniblock
  uint64_t used_ = 0;        // values of it
};

/// All lengths, then all texts.
class DeltaLengthTexts : public ParquetValueReader {
 public:
  explicit DeltaLengthTexts(const ParquetValueSource& source)
      : lengths_(source), texts_(lengths_.rest()) {}
  ParquetValue next() override { return {.bits = 0, .text = texts_.take(lengths_.next().bits)}; }

 private:
  DeltaNumbers lengths_;
  ParquetBytes texts_;
};

/// Texts that begin like the previous one: all lengths of the beginnings, then the other parts.
class DeltaTexts : public ParquetValueReader {
 public:
  explicit DeltaTexts(const ParquetValueSource& source)
      : prefixes_(source), suffixes_({.bytes = prefixes_.rest()}) {}

  ParquetValue next() override {
    const uint64_t prefix = prefixes_.next().bits;
    if (prefix > text_.size()) {
      fail_damaged("a text that shares more than the previous one has");
    }
    text_.resize(prefix);
    text_ += suffixes_.next().text;
    return {.bits = 0, .text = text_};
  }

 private:
  DeltaNumbers prefixes_;
  DeltaLengthTexts suffixes_;
  std::string text_;
};

/// The first bytes of all numbers, then the second ones, ...
class SplitNumbers : public ParquetValueReader {
 public:
  explicit SplitNumbers(const ParquetValueSource& source)
      : bytes_(source.bytes), width_(number_width(source.type)) {}

  ParquetValue next() override {
    const uint64_t count = bytes_.size() / width_;
    if (next_ >= count) {
      fail_damaged("a page with too few values");
    }
    uint64_t bits = 0;
    for (uint64_t byte = 0; byte < width_; ++byte) {
      bits |= uint64_t{static_cast<unsigned char>(bytes_[byte * count + next_])} << (8 * byte);
    }
    ++next_;
    return {.bits = bits, .text = {}};
  }

 private:
  std::string_view bytes_;
  uint64_t width_;
  uint64_t next_ = 0;
};

template <class Reader>
std::unique_ptr<ParquetValueReader> make_reader_of(const ParquetValueSource& source) {
  return std::make_unique<Reader>(source);
}

bool is_any_type(ParquetType /*type*/) { return true; }
bool is_boolean_type(ParquetType type) { return type == ParquetType::kBoolean; }
bool is_integer_type(ParquetType type) {
  return type == ParquetType::kInt32 || type == ParquetType::kInt64;
}
bool is_number_type(ParquetType type) { return number_width(type) > 0; }
bool is_text_type(ParquetType type) { return type == ParquetType::kByteArray; }

struct ValueEncoding {
  int64_t number = 0;
  bool (*is_for)(ParquetType) = nullptr;
  std::unique_ptr<ParquetValueReader> (*make)(const ParquetValueSource&) = nullptr;
};

constexpr std::array kValueEncodings = {
    ValueEncoding{0, is_any_type, make_reader_of<PlainValues>},
    ValueEncoding{2, is_any_type,
                  make_reader_of<DictionaryValues>},  // PLAIN_DICTIONARY, the older number
    ValueEncoding{3, is_boolean_type, make_reader_of<RunBooleans>},
    ValueEncoding{5, is_integer_type, make_reader_of<DeltaNumbers>},
    ValueEncoding{6, is_text_type, make_reader_of<DeltaLengthTexts>},
    ValueEncoding{7, is_text_type, make_reader_of<DeltaTexts>},
    ValueEncoding{8, is_any_type, make_reader_of<DictionaryValues>},
    ValueEncoding{9, is_number_type, make_reader_of<SplitNumbers>},
};

}  // namespace

std::unique_ptr<ParquetValueReader> make_value_reader(int64_t encoding,
                                                      const ParquetValueSource& source) {
  for (const auto& known : kValueEncodings) {
    if (known.number == encoding && known.is_for(source.type)) {
      return known.make(source);
    }
  }
  throw Error(str_cat("Parquet data in encoding ", encoding, ", which is not known for its type"));
}

uint64_t ParquetRunReader::next() {
  while (left_ == 0) {
    const uint64_t head = bytes_.varint();
    if (head > UINT32_MAX) {
      fail_damaged("a run of an invalid length");
    }
    is_packed_ = (head & 1) != 0;
    left_ = is_packed_ ? (head >> 1) * 8 : head >> 1;
    if (is_packed_) {
      packed_ = bytes_.take(std::min<uint64_t>(bytes_.rest().size(), (head >> 1) * width_));
      offset_ = 0;
    } else {
      value_ = bytes_.number((width_ + 7) / 8);
    }
  }
  --left_;
  if (!is_packed_) {
    return value_;
  }
  const uint64_t value = bits_at(packed_, offset_, width_);
  offset_ += width_;
  return value;
}

}  // namespace weft::formats
