#include "nn/attention/memory/segment_memory.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "nn/carried_state.h"

namespace weft::nn {

namespace {

at::Tensor joined(const at::Tensor& before, const at::Tensor& after) {
  return before.defined() ? at::cat({before.to(after.scalar_type()), after}) : after;
}

at::Tensor last_rows(const at::Tensor& rows, int64_t count) {
  const auto kept = std::min(count, rows.size(0));
  return rows.narrow(0, rows.size(0) - kept, kept);
}

/// The memory of one stream in one layer.
class StreamMemory {
 public:
  StreamMemory(const SegmentMemory& memory,
               int64_t stream,
               int64_t depth,
               const ForwardContext& context)
      : memory_(memory),
        stream_(stream),
        name_(str_cat("memory/", depth)),
        compressed_name_(str_cat("compressed_memory/", depth)),
        state_(*context.carried_state) {}

  /// The compressed rows and the memory before the sequence; undefined: none.
  at::Tensor rows(at::ScalarType type) const {
    const auto recent = state_.get(stream_, name_);
    const auto compressed = state_.get(stream_, compressed_name_);
    const auto all = compressed.defined() ? at::cat({compressed, recent}) : recent;
    return all.defined() ? all.to(type) : all;
  }

  /// Appends the rows of the sequence (l, D). Returns what has left the memory, if anything.
  std::optional<CompressedRows> append(const at::Tensor& own) {
    const auto all = joined(state_.get(stream_, name_), own.detach());
    if (memory_.compression == nullptr) {
      state_.set(stream_, name_, last_rows(all, memory_.size).clone());
      return std::nullopt;
    }
    const auto rate = memory_.compression->rate();
    const auto leaving = std::max<int64_t>(all.size(0) - memory_.size, 0) / rate * rate;
    state_.set(stream_, name_, last_rows(all, all.size(0) - leaving).clone());
    const auto before = state_.get(stream_, compressed_name_);
    if (leaving == 0) {
      if (before.defined()) {
        state_.set(stream_, compressed_name_, before);
      }
      return std::nullopt;
    }
    CompressedRows result{.rows = all.narrow(0, 0, leaving), .compressed = {}};
    result.compressed = memory_.compression->forward(result.rows);
    state_.set(
        stream_, compressed_name_,
        last_rows(joined(before, result.compressed.detach()), memory_.compressed_size).clone());
    return result;
  }

 private:
  const SegmentMemory& memory_;
  int64_t stream_;
  std::string name_;
  std::string compressed_name_;
  CarriedState& state_;
};

}  // namespace

void require_causal(const config::Section& section,
                    std::string_view type,
                    const AttentionOptions& options) {
  if (!options.is_causal) {
    section.fail("type", str_cat("found '", type,
                                 "' in a model that is not causal; its memory is for language "
                                 "models"));
  }
}

ContinuedRows after_memory(const at::Tensor& x,
                           const SegmentMemory& memory,
                           int64_t layer,
                           const ForwardContext& context) {
  const auto& layout = context.layout;
  std::vector<at::Tensor> pieces;
  std::vector<int64_t> offsets{0};
  ContinuedRows result;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    StreamMemory stream(memory, context.streams[static_cast<std::size_t>(b)], context.depth(layer),
                        context);
    const auto length = layout.length(b);
    const auto own = x.narrow(0, layout.offsets[static_cast<std::size_t>(b)], length);
    pieces.push_back(joined(stream.rows(x.scalar_type()), own));
    offsets.push_back(offsets.back() + pieces.back().size(0));
    for (int64_t i = offsets.back() - length; i < offsets.back(); ++i) {
      result.places.push_back(i);
    }
    if (auto compressed = stream.append(own)) {
      compressed->sequence = b;
      result.compressed.push_back(std::move(*compressed));
    }
  }
  result.rows = at::cat(pieces);
  result.layout = kernels::Layout::from_offsets(std::move(offsets), x.device());
  return result;
}

}  // namespace weft::nn
