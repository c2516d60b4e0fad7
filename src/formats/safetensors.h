#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/error.h"

namespace weft::formats {

enum class DType { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };

int64_t byte_width(DType dtype);
std::string_view name_of(DType dtype);  // `F32`, as the format spells it

/// Non-owning view of a tensor in a file or in memory: little-endian, C order. In files from other
/// writers it may be unaligned.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t count() const;
};

/// Memory-mapped safetensors file. Its header is fully validated: length <= 100 MB, JSON without
/// duplicate names, each tensor's length equal to shape x dtype (overflow checked), offsets without
/// overlap or gap, covering the file exactly.
class SafetensorsFile {
 public:
  /// Throws formats::Error naming the file.
  explicit SafetensorsFile(const std::string& path);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }
  /// Throws formats::Error if there is no such tensor.
  const TensorView& at(const std::string& name) const;

 private:
  std::string path_;
  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

struct NamedTensor {
  std::string name;
  TensorView view;
  /// Returns the bytes where they are not in memory: called when they are written, in the order of
  /// the file; they must stay valid until the next call of any. Null: they are view.bytes.
  std::function<std::span<const std::byte>()> read = {};
};

/// Writes the tensors, wider dtypes first, else in the given order, so that each is aligned to its
/// width. `mode` as in FileWriter. Throws FileError; std::invalid_argument for a duplicate name or
/// bytes that do not match the shape.
void write_safetensors(const std::string& path,
                       const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
                       FileWriter::Mode mode = FileWriter::Mode::kAtomic);

/// Writes a file as write_safetensors does, but with zeros for the bytes of the tensors. Returns
/// the position of each tensor's bytes in the file, in the order of `tensors`. Throws as it does.
std::vector<int64_t> reserve_safetensors(const std::string& path,
                                         const std::vector<NamedTensor>& tensors,
                                         const std::map<std::string, std::string>& metadata = {
                                             {"format", "pt"}});

}  // namespace weft::formats
