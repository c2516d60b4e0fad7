#include "kernels/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>

#include "kernels/to_device.h"

namespace weft::kernels {

Layout Layout::from_offsets(std::vector<int64_t> offsets, const at::Device& device) {
  return continuing(std::move(offsets), {}, device);
}

Layout Layout::from_lengths(const std::vector<int64_t>& lengths, const at::Device& device) {
  std::vector<int64_t> offsets(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return from_offsets(std::move(offsets), device);
}

Layout Layout::continuing(std::vector<int64_t> offsets,
                          const std::vector<int64_t>& before,
                          const at::Device& device) {
  TORCH_CHECK(!offsets.empty() && offsets.front() == 0,
              "Layout expects offsets that begin at 0, got ",
              offsets.empty() ? "none" : std::to_string(offsets.front()));
  TORCH_CHECK(offsets.back() <= std::numeric_limits<int32_t>::max(),
              "Layout expects fewer than 2^31 tokens, got ", offsets.back());
  TORCH_CHECK(before.empty() || before.size() + 1 == offsets.size(),
              "Layout expects one position for each of ", offsets.size() - 1, " sequences, got ",
              before.size());
  Layout layout;
  const auto host_offsets = at::empty({static_cast<int64_t>(offsets.size())}, at::kInt);
  auto* const narrow = host_offsets.data_ptr<int32_t>();
  narrow[0] = 0;
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto length = offsets[b + 1] - offsets[b];
    TORCH_CHECK(length >= 0, "Layout expects increasing offsets, got ", offsets[b], " then ",
                offsets[b + 1]);
    layout.max_length = std::max(layout.max_length, length);
    narrow[b + 1] = static_cast<int32_t>(offsets[b + 1]);
  }
  const auto host_positions = at::empty({offsets.back()}, at::kLong);  // (N)
  auto* const token_positions = host_positions.data_ptr<int64_t>();
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    const int64_t first = before.empty() ? 0 : before[b];
    for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      token_positions[i] = first + i - offsets[b];
    }
    layout.position_limit = std::max(layout.position_limit, first + offsets[b + 1] - offsets[b]);
  }
  layout.offsets = std::move(offsets);
  layout.device_offsets = to_device(host_offsets, device);
  layout.positions = to_device(host_positions, device);
  return layout;
}

Layout Layout::with_positions(const std::vector<int64_t>& token_positions) const {
  TORCH_CHECK(static_cast<int64_t>(token_positions.size()) == tokens(),
              "Layout expects one position for each of ", tokens(), " tokens, got ",
              token_positions.size());
  auto layout = *this;
  layout.position_limit = 0;
  for (const int64_t position : token_positions) {
    TORCH_CHECK(position >= 0, "Layout expects positions of at least 0, got ", position);
    layout.position_limit = std::max(layout.position_limit, position + 1);
  }
  layout.positions = to_device(token_positions, positions.device());
  return layout;
}

at::Tensor Layout::device_lengths() const { return device_offsets.diff().to(at::kLong); }

}  // namespace weft::kernels
