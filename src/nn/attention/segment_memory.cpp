#include "nn/attention/segment_memory.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "nn/carried_state.h"

namespace weft::nn {

ContinuedRows behind_memory(const at::Tensor& x,
                            int64_t memory,
                            int64_t layer,
                            const ForwardContext& context) {
  const auto name = str_cat("memory/", context.depth(layer));
  const auto& layout = context.layout;
  std::vector<at::Tensor> pieces;
  std::vector<int64_t> offsets{0};
  ContinuedRows result;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto stream = context.streams[static_cast<std::size_t>(b)];
    const auto length = layout.length(b);
    const auto own = x.narrow(0, layout.offsets[static_cast<std::size_t>(b)], length);
    const auto before = context.carried_state->get(stream, name);
    const auto all = before.defined() ? at::cat({before.to(x.scalar_type()), own}) : own;
    const auto first = offsets.back() + all.size(0) - length;
    for (int64_t i = 0; i < length; ++i) {
      result.places.push_back(first + i);
    }
    pieces.push_back(all);
    offsets.push_back(offsets.back() + all.size(0));
    const auto kept = std::min(memory, all.size(0));
    context.carried_state->set(stream, name, all.narrow(0, all.size(0) - kept, kept).clone());
  }
  result.rows = at::cat(pieces);
  result.layout = kernels::Layout::from_offsets(std::move(offsets), x.device());
  return result;
}

}  // namespace weft::nn
