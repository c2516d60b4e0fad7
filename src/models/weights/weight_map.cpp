#include "models/weights/weight_map.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

namespace {

/// Pooling, document encoders, output layers and early exits belong to a head, which a model that
/// starts from one with another head does not find.
bool is_of_head(const std::string& parameter) {
  return parameter.starts_with("pooling.") || parameter.starts_with("output_layer.") ||
         parameter.starts_with("document.") || parameter.starts_with("sentence_decoder.") ||
         parameter.starts_with("early_exits.");
}

/// Elements of each parameter that the tensors contain.
std::map<std::string, int64_t> stored_elements(const std::vector<StoredTensor>& tensors) {
  std::map<std::string, int64_t> result;
  for (const auto& tensor : tensors) {
    result[tensor.parameter] += tensor.elements();
  }
  return result;
}

/// Replaces the tensors of parts that are not the family's: those are stored under the names of
/// their parameters.
void replace_own_tensors(std::vector<StoredTensor>& tensors, const ModelOptions& options) {
  const auto model = options.family->make(options);
  const auto stored = stored_elements(tensors);
  const auto parameters = model->named_parameters();
  std::map<const void*, std::string> first_names;  // of tensors, which layers may share
  for (const auto& item : parameters) {
    first_names.try_emplace(item.value().unsafeGetTensorImpl(), item.key());
  }
  std::erase_if(tensors, [&](const StoredTensor& tensor) {
    const auto* parameter = parameters.find(tensor.parameter);
    return parameter == nullptr || parameter->numel() != stored.at(tensor.parameter) ||
           first_names.at(parameter->unsafeGetTensorImpl()) != tensor.parameter;
  });
  const auto kept = stored_elements(tensors);
  for (auto& tensor : tensors_by_name(*model, is_of_head)) {
    const auto* parameter = parameters.find(tensor.parameter);  // else a buffer
    const bool is_first = parameter == nullptr ||
                          first_names.at(parameter->unsafeGetTensorImpl()) == tensor.parameter;
    if (is_first && !kept.contains(tensor.parameter)) {
      tensor.is_separate = !has_own_parts(options);
      tensors.push_back(std::move(tensor));
    }
  }
}

constexpr int64_t kParts = 3;  // query, key and value

}  // namespace

std::vector<StoredTensor> weight_map(const ModelOptions& options) {
  auto tensors = options.family->tensors(options);
  if (has_own_parts(options) || options.early_exit) {
    replace_own_tensors(tensors, options);
  }
  return tensors;
}

std::string module_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::vector<std::pair<std::string, int64_t>> module_sizes(const ModelOptions& options) {
  std::vector<std::pair<std::string, int64_t>> modules;
  for (const auto& tensor : weight_map(options)) {
    const auto module = tensor.parameter.substr(0, tensor.parameter.find('.'));
    auto found = std::ranges::find(modules, module, &std::pair<std::string, int64_t>::first);
    if (found == modules.end()) {
      found = modules.insert(found, {module, 0});
    }
    found->second += tensor.elements();
  }
  return modules;
}

std::vector<std::string> name_aliases(const StoredTensor& tensor, const ModelOptions& options) {
  std::vector<std::string> result{tensor.name};
  if (!tensor.duplicate_name.empty() && !is_ignorable(tensor.duplicate_name, options)) {
    result.push_back(tensor.duplicate_name);
  }
  const auto prefix = std::string(hf_names_of(options).prefix) + ".";
  if (tensor.part != Part::kHead && prefix.size() > 1) {
    result.push_back(tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size())
                                                     : prefix + tensor.name);
  }
  if (const auto& further = options.family->name_aliases) {
    for (auto& name : further(tensor, options)) {
      result.push_back(std::move(name));
    }
  }
  if (const auto& in_module = options.family->hf_module_name) {
    result.push_back(in_module(tensor));
  }
  for (const auto& [now, then] : {std::pair{".LayerNorm.weight", ".LayerNorm.gamma"},
                                  std::pair{".LayerNorm.bias", ".LayerNorm.beta"}}) {
    for (std::size_t i = 0, count = result.size(); i < count; ++i) {
      if (result[i].ends_with(now)) {
        result.push_back(result[i].substr(0, result[i].size() - std::string_view(now).size()) +
                         then);
      }
    }
  }
  return result;
}

bool is_ignorable(std::string_view name, const ModelOptions& options) {
  const auto& is_ignorable_name = options.family->is_ignorable;
  return is_ignorable_name != nullptr && is_ignorable_name(name, options);
}

at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor) {
  return parameter.narrow(0, tensor.first_row, tensor.rows());
}

at::Tensor deinterleave_heads(const at::Tensor& stored, int64_t heads) {
  if (heads == 0) {
    return stored;
  }
  const auto by_head = stored.reshape({heads, kParts, stored.size(0) / (heads * kParts), -1});
  return by_head.transpose(0, 1).reshape(stored.sizes());
}

at::Tensor interleave_heads(const at::Tensor& rows, int64_t heads) {
  if (heads == 0) {
    return rows;
  }
  const auto by_part = rows.reshape({kParts, heads, rows.size(0) / (heads * kParts), -1});
  return by_part.transpose(0, 1).reshape(rows.sizes());
}

at::Tensor from_file_layout(const at::Tensor& stored, const StoredTensor& tensor) {
  return tensor.is_transposed ? stored.t() : deinterleave_heads(stored, tensor.interleaved_heads);
}

at::Tensor to_file_layout(const at::Tensor& rows, const StoredTensor& tensor) {
  return tensor.is_transposed
             ? rows.t()
             : interleave_heads(rows, tensor.interleaved_heads).reshape(tensor.shape);
}

}  // namespace weft::models
