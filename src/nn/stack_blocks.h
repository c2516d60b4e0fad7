#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/stack.h"

namespace weft::nn {

struct StackBlocks {
  std::vector<std::shared_ptr<Block>> distinct;  // with parameters of their own
  std::vector<std::size_t> owners;               // of each layer: the one that it runs
  bool has_one_width = true;                     // D features between the layers
};

/// The blocks of a stack. Throws config::Error for layers whose widths do not fit each other.
StackBlocks make_blocks(const StackOptions& options);

}  // namespace weft::nn
