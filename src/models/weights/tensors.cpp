#include "models/weights/tensors.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

#include "base/string_util.h"

namespace weft::models {

namespace {

using formats::DType;

constexpr std::array<std::pair<DType, at::ScalarType>, 10> kTypes = {{
    {DType::kBool, at::kBool},
    {DType::kU8, at::kByte},
    {DType::kI8, at::kChar},
    {DType::kI16, at::kShort},
    {DType::kI32, at::kInt},
    {DType::kI64, at::kLong},
    {DType::kF16, at::kHalf},
    {DType::kBF16, at::kBFloat16},
    {DType::kF32, at::kFloat},
    {DType::kF64, at::kDouble},
}};

at::ScalarType type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) {
      return theirs;
    }
  }
  throw std::logic_error("a dtype without a type");
}

DType type_of(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) {
      return ours;
    }
  }
  throw std::logic_error("a type that files do not have");
}

}  // namespace

at::Tensor tensor_of(const formats::TensorView& view) {
  auto* data = const_cast<std::byte*>(view.bytes.data());  // never written to
  const auto options = at::TensorOptions().dtype(type_of(view.dtype));
  const auto width = static_cast<std::uintptr_t>(formats::byte_width(view.dtype));
  if (!view.bytes.empty() && reinterpret_cast<std::uintptr_t>(data) % width == 0) {
    return at::from_blob(data, view.shape, options);
  }
  auto copy = at::empty(view.shape, options);
  if (!view.bytes.empty()) {
    std::memcpy(copy.data_ptr(), data, view.bytes.size());
  }
  return copy;
}

at::Tensor to_dtype(const at::Tensor& tensor, DType dtype) {
  return tensor.detach().to(at::kCPU, type_of(dtype)).contiguous();
}

formats::TensorView view_of(const at::Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {.dtype = type_of(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = {data, tensor.nbytes()}};
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < shape.size() && i < 8; ++i) {
    sizes.push_back(std::to_string(shape[i]));
  }
  return "(" + join(sizes) + (shape.size() > 8 ? ", ..." : "") + ")";
}

}  // namespace weft::models
