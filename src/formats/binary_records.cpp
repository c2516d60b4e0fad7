#include "formats/binary_records.h"

#include <utility>

#include "base/string_util.h"
#include "formats/error.h"
#include "formats/tensorboard_events.h"

namespace weft::formats {

namespace {

constexpr std::string_view kRecordsMagic = "weft-records";
constexpr uint32_t kRecordsVersion = 1;

[[noreturn]] void reject_records(std::string_view kind, const std::string& what) {
  throw Error(str_cat("serialized records: ", what, ", expected complete records of kind '", kind,
                      "', version ", kRecordsVersion));
}

}  // namespace

BinaryWriter::BinaryWriter(std::string_view kind) : bytes_(kRecordsMagic) {
  write(kRecordsVersion);
  write(kind);
}

std::string BinaryWriter::finish() {
  write(crc32c(bytes_));
  return std::exchange(bytes_, {});
}

BinaryReader::BinaryReader(std::string_view bytes, std::string_view kind)
    : kind_(kind), rest_(bytes) {
  if (!rest_.starts_with(kRecordsMagic)) {
    reject_records(kind, str_cat("found ", rest_.size(), " bytes of another format"));
  }
  take(kRecordsMagic.size());
  if (const auto version = read<uint32_t>(); version != kRecordsVersion) {
    reject_records(kind, str_cat("found version ", version));
  }
  require(rest_.size() >= sizeof(uint32_t));
  const auto content = bytes.substr(0, bytes.size() - sizeof(uint32_t));
  uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + content.size(), sizeof(checksum));
  require(checksum == crc32c(content));
  rest_.remove_suffix(sizeof(checksum));
  if (const auto found = read<std::string>(); found != kind) {
    reject_records(kind, str_cat("found kind '", found, "'"));
  }
}

std::string_view BinaryReader::take(std::size_t size) {
  require(size <= rest_.size());
  const auto taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::size_t BinaryReader::read_size() {
  const auto size = read<uint64_t>();
  require(size <= rest_.size());
  return size;
}

void BinaryReader::require(bool is_valid) const {
  if (!is_valid) {
    reject_records(kind_, "found damaged or truncated bytes");
  }
}

}  // namespace weft::formats
