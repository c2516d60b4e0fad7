#include "models/seq2seq_rnn/rnn_decoder_state.h"

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "kernels/to_device.h"

namespace weft::models {

namespace {

constexpr int64_t kStateLayer = 0;  // of nn::DecodingState

/// The sources' parts, with their names.
template <class Source>
auto parts_of_source(Source& source) {
  auto& attention = source.attention;
  return std::vector{
      std::pair{"summary", &source.summary},    std::pair{"values", &attention.values},
      std::pair{"keys", &attention.keys},       std::pair{"is_hidden", &attention.is_hidden},
      std::pair{"lengths", &attention.lengths}, std::pair{"fertility", &attention.fertility}};
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor*>> RnnDecoderState::tensors() {
  std::vector<std::pair<std::string, at::Tensor*>> result;
  const auto add = [&](std::string name, at::Tensor& tensor) {
    if (tensor.defined()) {
      result.emplace_back(std::move(name), &tensor);
    }
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    add(str_cat("state_", i), layers[i].state);
    add(str_cat("memory_", i), layers[i].cell_state);
  }
  add("features", features);
  add("coverage", coverage);
  return result;
}

RnnDecoderState RnnDecoderState::first(int64_t count) {
  auto result = *this;
  for (const auto& [name, tensor] : result.tensors()) {
    *tensor = tensor->narrow(0, 0, count);
  }
  return result;
}

void RnnDecoderState::set_first(RnnDecoderState& now) {
  const auto all = tensors();
  const auto changed = now.tensors();
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& whole = *all[i].second;
    const auto& rows = *changed[i].second;
    const auto rest = whole.size(0) - rows.size(0);
    whole = rest == 0 ? rows : at::cat({rows, whole.narrow(0, rows.size(0), rest)});
  }
}

void RnnDecoderState::load(nn::DecodingState& decoding, const std::vector<int64_t>& sequences) {
  for (const auto& [name, tensor] : tensors()) {
    const auto& kept = decoding.sequence_tensor(kStateLayer, name);
    if (kept.defined()) {
      *tensor = kept.index_select(0, kernels::to_device(sequences, kept.device()));
    }
  }
}

void RnnDecoderState::keep(nn::DecodingState& decoding, const std::vector<int64_t>& sequences) {
  std::vector<int64_t> rows(sequences.size());  // of each sequence
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    rows[static_cast<std::size_t>(sequences[i])] = static_cast<int64_t>(i);
  }
  for (const auto& [name, tensor] : tensors()) {
    decoding.sequence_tensor(kStateLayer, name) =
        tensor->index_select(0, kernels::to_device(rows, tensor->device()));
  }
}

RnnDecoderSource RnnDecoderSource::select(const at::Tensor& rows) const {
  return {.attention = attention.select(rows), .summary = summary.index_select(0, rows)};
}

RnnDecoderSource RnnDecoderSource::first(int64_t count) const {
  return {.attention = attention.first(count), .summary = summary.narrow(0, 0, count)};
}

void RnnDecoderSource::keep(nn::DecodingState& decoding) const {
  for (const auto& [name, tensor] : parts_of_source(*this)) {
    decoding.source_tensor(kStateLayer, name) = *tensor;
  }
}

RnnDecoderSource RnnDecoderSource::kept(nn::DecodingState& decoding) {
  RnnDecoderSource result;
  for (const auto& [name, tensor] : parts_of_source(result)) {
    *tensor = decoding.source_tensor(kStateLayer, name);
  }
  return result;
}

}  // namespace weft::models
