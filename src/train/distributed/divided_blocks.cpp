#include "train/distributed/divided_blocks.h"

#include <cstddef>
#include <string>
#include <utility>

namespace weft::train {

void DividedBlocks::add(const std::function<Result()>& compute,
                        std::function<void(const Result&)> write) {
  if (static_cast<int>(writes_.size()) == group_.rank()) {
    own_ = compute();
  }
  writes_.push_back(std::move(write));
  if (static_cast<int>(writes_.size()) == group_.size()) {
    finish();
  }
}

void DividedBlocks::finish() {
  if (group_.size() == 1) {
    for (const auto& write : writes_) {
      write(own_);
    }
  } else if (!writes_.empty()) {
    std::string bytes;
    Result::to_cbor(own_, bytes);
    const auto parts = group_.gather(bytes);
    for (std::size_t i = 0; group_.is_main() && i < writes_.size(); ++i) {
      writes_[i](Result::from_cbor(parts[i]));
    }
  }
  writes_.clear();
  own_ = {};
}

}  // namespace weft::train
