#include "nn/pooling/token_pooling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/forward_context.h"

namespace weft::nn {

namespace {

bool is_shortened(int64_t length, const TokenPoolingOptions& options) {
  return length > (options.separate_cls ? 2 : 1);
}

/// The first and the last row of each window, which may be the same.
struct Windows {
  std::vector<int64_t> first;
  std::vector<int64_t> last;

  void add(int64_t first_row, int64_t last_row) {
    first.push_back(first_row);
    last.push_back(last_row);
  }
};

Windows windows_of(const kernels::Layout& layout, const TokenPoolingOptions& options) {
  Windows windows;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto begin = layout.offsets[static_cast<std::size_t>(b)];
    const auto length = layout.length(b);
    const bool is_short = !is_shortened(length, options);
    const auto alone = is_short ? length : options.separate_cls ? 1 : 0;
    for (int64_t i = 0; i < alone; ++i) {
      windows.add(begin + i, begin + i);
    }
    const auto end = length - (options.separate_cls && options.truncate_seq ? 1 : 0);
    for (auto i = alone; i < end; i += 2) {
      windows.add(begin + i, begin + std::min(i + 1, end - 1));
    }
  }
  return windows;
}

at::Tensor pooled_rows(const at::Tensor& rows, const Windows& windows, TokenPoolingType type) {
  const auto gather = [&](const std::vector<int64_t>& index) {
    return kernels::gather_rows(rows, kernels::to_device(index, rows.device()));
  };
  const auto first = gather(windows.first);
  const auto last = gather(windows.last);
  return type == TokenPoolingType::kMean ? (first + last) / 2 : at::maximum(first, last);
}

}  // namespace

int64_t pooled_length(int64_t length, const TokenPoolingOptions& options) {
  if (!is_shortened(length, options)) {
    return length;
  }
  const bool keeps_last = options.separate_cls && !options.truncate_seq;
  return (length + 1 + (keeps_last ? 1 : 0)) / 2;
}

kernels::Layout pooled_layout(const kernels::Layout& layout,
                              int64_t times,
                              const TokenPoolingOptions& options) {
  std::vector<int64_t> offsets{0};
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    auto length = layout.length(b);
    for (int64_t i = 0; i < times; ++i) {
      length = pooled_length(length, options);
    }
    offsets.push_back(offsets.back() + length);
  }
  return kernels::Layout::from_offsets(std::move(offsets), layout.positions.device());
}

ForwardContext halved_context(const ForwardContext& context,
                              const std::vector<int64_t>& first,
                              const std::function<int64_t(int64_t)>& length_of) {
  const auto device = context.layout.positions.device();
  std::vector<int64_t> offsets{0};
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    offsets.push_back(offsets.back() + length_of(context.layout.length(b)));
  }
  auto result = context;
  result.layout = kernels::Layout::from_offsets(std::move(offsets), device);
  result.stride = 2 * context.stride;
  if (context.token_types.defined()) {
    result.token_types = context.token_types.index_select(0, kernels::to_device(first, device));
  }
  change_earlier_lengths(result, length_of);
  return result;
}

PooledRows pool_tokens(const at::Tensor& rows,
                       const ForwardContext& context,
                       const TokenPoolingOptions& options) {
  const auto windows = windows_of(context.layout, options);
  return {.rows = pooled_rows(rows, windows, options.type),
          .context = halved_context(context, windows.first, [&](int64_t length) {
            return pooled_length(length, options);
          })};
}

at::Tensor upsample_tokens(const at::Tensor& rows,
                           const kernels::Layout& pooled,
                           const kernels::Layout& tokens,
                           int64_t stride,
                           const TokenPoolingOptions& options) {
  const auto alone = options.separate_cls ? 1 : 0;
  std::vector<int64_t> index;
  index.reserve(static_cast<std::size_t>(tokens.tokens()));
  for (int64_t b = 0; b < tokens.sequences(); ++b) {
    const auto begin = pooled.offsets[static_cast<std::size_t>(b)];
    for (int64_t i = 0; i < tokens.length(b); ++i) {
      const auto row = i < alone ? i : alone + (i - alone) / stride;
      index.push_back(row < pooled.length(b) ? begin + row : rows.size(0));
    }
  }
  const auto with_zeros = at::constant_pad_nd(rows, {0, 0, 0, 1});
  return kernels::gather_rows(with_zeros, kernels::to_device(index, rows.device()));
}

}  // namespace weft::nn
