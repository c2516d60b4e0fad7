#include "nn/decoding_state.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

std::vector<int64_t> selected_values(const std::vector<int64_t>& values,
                                     const std::vector<int64_t>& rows) {
  std::vector<int64_t> result;
  for (const auto row : rows) {
    TORCH_CHECK(row >= 0 && row < static_cast<int64_t>(values.size()), "no sequence ", row, " of ",
                values.size());
    result.push_back(values[static_cast<std::size_t>(row)]);
  }
  return result;
}

/// `all` (B, ...) with these rows; undefined: zero elsewhere.
at::Tensor with_rows(const at::Tensor& all,
                     const std::vector<int64_t>& rows,
                     const at::Tensor& values,
                     int64_t sequences) {
  auto shape = values.sizes().vec();
  shape.front() = sequences;
  return (all.defined() ? all : at::zeros(shape, values.options()))
      .index_copy(0, kernels::to_device(rows, values.device()), values);
}

/// (B, capacity, ...) with room for as many tokens.
at::Tensor of_capacity(const at::Tensor& tokens, int64_t capacity) {
  if (!tokens.defined() || tokens.size(1) == capacity) {
    return tokens;
  }
  auto shape = tokens.sizes().vec();
  shape[1] = capacity - tokens.size(1);
  return at::cat({tokens, at::zeros(shape, tokens.options())}, 1);
}

}  // namespace

DecodingState::DecodingState(int64_t sequences)
    : lengths_(static_cast<std::size_t>(sequences), 0),
      previous_lengths_(lengths_),
      source_indices_(lengths_) {
  std::iota(source_indices_.begin(), source_indices_.end(), 0);
}

kernels::Layout DecodingState::begin_step(const std::vector<int64_t>& counts,
                                          const at::Device& device) {
  TORCH_CHECK(counts.size() == lengths_.size(), "a forward pass over ", lengths_.size(),
              " sequences expects the same number of counts, got ", counts.size());
  previous_lengths_ = lengths_;
  std::vector<int64_t> offsets{0};
  for (std::size_t b = 0; b < counts.size(); ++b) {
    lengths_[b] += counts[b];
    offsets.push_back(offsets.back() + counts[b]);
  }
  return kernels::Layout::continuing(std::move(offsets), previous_lengths_, device);
}

DecodingState& DecodingState::segment_state() {
  if (segment_state_.empty()) {
    segment_state_.emplace_back(sequences());
  }
  return segment_state_.front();
}

void DecodingState::replace(const std::vector<int64_t>& sequences, const DecodingState& other) {
  TORCH_CHECK(std::ssize(sequences) == other.sequences(), "replaces ", sequences.size(),
              " sequences by ", other.sequences());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto b = static_cast<std::size_t>(sequences[i]);
    lengths_.at(b) = other.lengths_[i];
    previous_lengths_.at(b) = other.previous_lengths_[i];
  }
  for (const auto& [key, tensor] : other.sequence_tensors_) {
    if (tensor.defined()) {
      auto& own = sequence_tensors_[key];
      own = with_rows(own, sequences, tensor, this->sequences());
    }
  }
  for (const auto& [key, tensor] : other.token_tensors_) {
    if (!tensor.defined()) {
      continue;
    }
    auto& own = token_tensors_[key];
    const auto capacity = own.defined() ? std::max(own.size(1), tensor.size(1)) : tensor.size(1);
    own = with_rows(of_capacity(own, capacity), sequences, of_capacity(tensor, capacity),
                    this->sequences());
  }
}

void DecodingState::reorder(const std::vector<int64_t>& rows) {
  std::vector<int64_t> same(lengths_.size());
  std::iota(same.begin(), same.end(), 0);
  if (rows == same) {
    return;
  }
  lengths_ = selected_values(lengths_, rows);
  previous_lengths_ = selected_values(previous_lengths_, rows);
  for (auto* const segments : {&segment_state_, &mark_.segment_state}) {
    for (auto& segment : *segments) {
      segment.reorder(rows);
    }
  }
  source_indices_ = selected_values(source_indices_, rows);
  const auto reordered = [&](const at::Tensor& x) {
    return x.index_select(0, kernels::to_device(rows, x.device()));
  };
  for (auto* const tensors : {&sequence_tensors_, &mark_.sequence_tensors}) {
    for (auto& [key, tensor] : *tensors) {
      if (tensor.defined()) {
        tensor = reordered(tensor);
      }
    }
  }
  if (!mark_.lengths.empty()) {
    mark_.lengths = selected_values(mark_.lengths, rows);
  }
  // With room for some more tokens, so that it need not grow at once.
  const int64_t longest = lengths_.empty() ? 0 : *std::ranges::max_element(lengths_);
  const int64_t capacity = longest + 1 + longest / 8;
  for (auto& [key, tensor] : token_tensors_) {
    if (tensor.defined()) {
      tensor = reordered(tensor.narrow(1, 0, std::min(capacity, tensor.size(1))));
    }
  }
}

void DecodingState::mark() { mark_ = {lengths_, sequence_tensors_, segment_state_}; }

void DecodingState::truncate(const std::vector<int64_t>& lengths) {
  if (lengths == lengths_) {
    return;
  }
  TORCH_CHECK(lengths.size() == lengths_.size() && mark_.lengths.size() == lengths.size(),
              "cannot truncate ", lengths_.size(), " sequences to ", lengths.size(),
              " lengths, with a mark of ", mark_.lengths.size());
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    TORCH_CHECK(lengths[b] >= mark_.lengths[b] && lengths[b] <= lengths_[b],
                "cannot truncate a sequence of ", lengths_[b], " tokens to ", lengths[b],
                ": the mark is at ", mark_.lengths[b]);
  }
  const bool has_sequence_tensors = std::ranges::any_of(
      sequence_tensors_, [](const auto& kept) { return kept.second.defined(); });
  if (!has_sequence_tensors) {
    lengths_ = lengths;
    return;
  }
  lengths_ = mark_.lengths;
  sequence_tensors_ = mark_.sequence_tensors;
  segment_state_ = mark_.segment_state;
}

}  // namespace weft::nn
