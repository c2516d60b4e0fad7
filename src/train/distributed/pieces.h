#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::train {

/// Number of calls of Gloo that run at the same time.
inline constexpr std::size_t kInFlight = 4;

/// Throws c10::Error unless the slice is one-dimensional and contiguous: Gloo would silently
/// compute wrong sums.
void check_slice(const at::Tensor& slice);

/// Cuts a slice into pieces of at most 4 MiB; the lengths of all but the last divide by the number
/// of ranks. Gloo is fastest with several calls of 1 to 4 MiB at a time: it copies larger ones.
std::vector<at::Tensor> pieces_of(const at::Tensor& slice, int ranks);

/// Adds the rows in order, 16-bit types in fp32; may overwrite the first row. (R, N) -> (N)
at::Tensor ordered_sum(const at::Tensor& rows);

/// Runs start(i), middle(i), finish(i) for i in 0 .. count-1, each kInFlight items behind the one
/// before: in the same order on every rank.
template <class Start, class Middle, class Finish>
void pipeline(std::size_t count, const Start& start, const Middle& middle, const Finish& finish) {
  const std::size_t delay = std::min(kInFlight, count);
  for (std::size_t item = 0; item < count + 2 * delay; ++item) {
    if (item < count) {
      start(item);
    }
    if (item >= delay && item - delay < count) {
      middle(item - delay);
    }
    if (item >= 2 * delay) {
      finish(item - 2 * delay);
    }
  }
}

}  // namespace weft::train
