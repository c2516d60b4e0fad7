#include "nn/carried_state.h"

#include <charconv>

#include <c10/util/Exception.h>

namespace weft::nn {

at::Tensor CarriedState::get(int64_t stream, const std::string& name) const {
  const auto found = committed_.find({stream, name});
  return found == committed_.end() ? at::Tensor() : found->second;
}

void CarriedState::set(int64_t stream, const std::string& name, const at::Tensor& value) {
  pending_[{stream, name}] = value.detach();
}

void CarriedState::commit() {
  if (!pending_.empty()) {
    committed_ = std::move(pending_);
    pending_.clear();
  }
}

void CarriedState::discard() { pending_.clear(); }

std::map<std::string, at::Tensor> CarriedState::tensors() const {
  std::map<std::string, at::Tensor> result;
  for (const auto& [key, value] : committed_) {
    result[std::to_string(key.first) + "/" + key.second] = value;
  }
  return result;
}

void CarriedState::load(const std::map<std::string, at::Tensor>& tensors,
                        const at::Device& device) {
  committed_.clear();
  pending_.clear();
  for (const auto& [path, value] : tensors) {
    int64_t stream = 0;
    const auto slash = path.find('/');
    const auto number = path.substr(0, slash);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), stream);
    TORCH_CHECK(slash != std::string::npos && parsed.ec == std::errc() &&
                    parsed.ptr == number.data() + number.size(),
                "found carried state '", path, "', expected STREAM/NAME");
    committed_[{stream, path.substr(slash + 1)}] = value.to(device);
  }
}

}  // namespace weft::nn
