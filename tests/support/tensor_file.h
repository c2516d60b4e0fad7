#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"
#include "models/weights/tensors.h"

namespace weft::test {

using Tensors = std::map<std::string, at::Tensor>;

/// All tensors of a safetensors file, copied to memory.
inline Tensors read_tensors(const std::string& path) {
  Tensors result;
  const formats::SafetensorsFile file(path);
  for (const auto& [name, view] : file.tensors()) {
    result[name] = models::tensor_of(view).clone();
  }
  return result;
}

inline void write_tensors(const std::string& path, const Tensors& tensors) {
  std::vector<formats::NamedTensor> views;
  for (const auto& [name, tensor] : tensors) {
    views.push_back({name, models::view_of(tensor)});
  }
  formats::write_safetensors(path, views);
}

}  // namespace weft::test
