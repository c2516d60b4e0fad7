#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "formats/json.h"
#include "formats/safetensors_header.h"

namespace weft::formats {

namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are stored in little-endian order");

constexpr std::size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kAlignment = 8;

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int64_t width;
};

constexpr std::array kDTypes = {
    DTypeInfo{DType::kBool, "BOOL", 1}, DTypeInfo{DType::kU8, "U8", 1},
    DTypeInfo{DType::kI8, "I8", 1},     DTypeInfo{DType::kI16, "I16", 2},
    DTypeInfo{DType::kI32, "I32", 4},   DTypeInfo{DType::kI64, "I64", 8},
    DTypeInfo{DType::kF16, "F16", 2},   DTypeInfo{DType::kBF16, "BF16", 2},
    DTypeInfo{DType::kF32, "F32", 4},   DTypeInfo{DType::kF64, "F64", 8},
};

const DTypeInfo& dtype_info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// Returns the bytes of the header, after all checks that need no parsing.
std::string_view header_of(std::string_view file, const std::string& path) {
  // A header of 640 bytes has a length that begins as pickle does.
  const bool has_header = file.size() > kLengthBytes && file[kLengthBytes] == '{';
  if (!has_header && (file.starts_with("PK\x03\x04") || file.starts_with("\x80\x02"))) {
    throw Error(path +
                ": a PyTorch pickle file, allowed is safetensors (Weft never reads pickle: convert "
                "the file)");
  }
  if (file.size() < kLengthBytes) {
    throw Error(str_cat(path, ": ", file.size(), " bytes, too short for a safetensors file"));
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    throw Error(str_cat(path, ": not a safetensors file: its header would be ", length,
                        " bytes long, at most ", kMaxHeaderBytes, " are allowed"));
  }
  if (length > file.size() - kLengthBytes) {
    throw Error(str_cat(path, ": truncated: the safetensors header has ", length,
                        " bytes, but the file has ", file.size()));
  }
  const auto header = file.substr(kLengthBytes, length);
  if (!header.starts_with('{')) {
    throw Error(path + ": not a safetensors file: its header does not begin with '{'");
  }
  return header;
}

/// Returns the product, or nullopt if it overflows 63 bits. Any zero makes the product zero.
std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t factor) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return 0;
  }
  int64_t result = factor;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(result, size, &result)) {
      return std::nullopt;
    }
  }
  return result;
}

/// Checks that the tensors are contiguous and fill the file, which also rules out overlaps and
/// offsets out of range.
void check_offsets(std::vector<const HeaderEntry*> entries,
                   uint64_t available,
                   const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t reached = 0;
  for (const HeaderEntry* entry : entries) {
    if (entry->begin != reached || entry->end < entry->begin || entry->end > available) {
      throw Error(str_cat(path, ": tensor ", quoted_text(entry->name), ": data offsets ",
                          entry->begin, " to ", entry->end, ", expected to begin at ", reached,
                          " and to end at or before ", available));
    }
    reached = entry->end;
  }
  if (reached != available) {
    throw Error(
        str_cat(path, ": the tensors take ", reached, " bytes, but the file has ", available));
  }
}

TensorView view_of(const HeaderEntry& entry,
                   std::span<const std::byte> data,
                   const std::string& path) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeInfo& facts) {
    return facts.name == entry.dtype;
  });
  if (found == kDTypes.end()) {
    std::vector<std::string> names;
    for (const auto& facts : kDTypes) {
      names.emplace_back(facts.name);
    }
    throw Error(str_cat(path, ": tensor ", quoted_text(entry.name), ": dtype ",
                        quoted_text(entry.dtype), ", allowed are ", join(names)));
  }
  const auto bytes = product(entry.shape, found->width);
  if (!bytes || static_cast<uint64_t>(*bytes) != entry.end - entry.begin) {
    throw Error(str_cat(path, ": tensor ", quoted_text(entry.name), ": its shape and dtype ",
                        found->name, " do not give ", entry.end - entry.begin, " bytes"));
  }
  return {.dtype = found->dtype,
          .shape = entry.shape,
          .bytes = data.subspan(entry.begin, entry.end - entry.begin)};
}

/// Readers use the bytes in place, so each tensor must be aligned to its width: wider ones first.
std::vector<const NamedTensor*> file_order(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  order.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return byte_width(a->view.dtype) > byte_width(b->view.dtype);
  });
  return order;
}

/// What precedes the bytes of the tensors: the length of the header, and the header.
std::string file_header(const std::vector<const NamedTensor*>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::string header = safetensors_header(order, metadata);
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  const uint64_t length = header.size();
  if (length > kMaxHeaderBytes) {
    throw std::invalid_argument("write_safetensors: the header would be longer than 100 MB");
  }
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
}

}  // namespace

int64_t byte_width(DType dtype) { return dtype_info(dtype).width; }

std::string_view name_of(DType dtype) { return dtype_info(dtype).name; }

int64_t TensorView::count() const {
  const auto elements = product(shape, 1);
  if (!elements) {
    throw std::invalid_argument("TensorView: the number of elements does not fit into 63 bits");
  }
  return *elements;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  const auto header_text = header_of(file_.text(), path);
  const auto header = read_safetensors_header(header_text, path);
  const auto data = file_.bytes().subspan(kLengthBytes + header_text.size());
  std::vector<const HeaderEntry*> entries;
  for (const auto& entry : header.entries) {
    entries.push_back(&entry);
  }
  check_offsets(std::move(entries), data.size(), path);
  for (const auto& entry : header.entries) {
    tensors_.emplace(entry.name, view_of(entry, data, path));
  }
  metadata_ = header.metadata;
}

const TensorView& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(path_ + ": no tensor " + quoted_text(name));
  }
  return found->second;
}

void write_safetensors(const std::string& path,
                       const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       FileWriter::Mode mode) {
  const auto order = file_order(tensors);
  FileWriter file(path, mode);
  file.write(file_header(order, metadata));
  for (const NamedTensor* tensor : order) {
    const auto bytes = tensor->read ? tensor->read() : tensor->view.bytes;
    if (bytes.size() != bytes_of(tensor->view)) {
      throw std::invalid_argument("write_safetensors: the bytes of " + quoted_text(tensor->name) +
                                  " do not match its shape");
    }
    file.write(bytes.data(), bytes.size());
  }
  file.commit();
}

std::vector<int64_t> reserve_safetensors(const std::string& path,
                                         const std::vector<NamedTensor>& tensors,
                                         const std::map<std::string, std::string>& metadata) {
  const auto order = file_order(tensors);
  FileWriter file(path, FileWriter::Mode::kPlain);
  file.write(file_header(order, metadata));
  int64_t end = file.size();
  std::vector<int64_t> positions(tensors.size());
  for (const NamedTensor* tensor : order) {
    positions[static_cast<std::size_t>(tensor - tensors.data())] = end;
    end += static_cast<int64_t>(bytes_of(tensor->view));
  }
  file.resize(end);
  file.commit();
  return positions;
}

}  // namespace weft::formats
