#include "models/decoding/output_tokens.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/to_device.h"
#include "models/decoding/search.h"

namespace weft::models {

namespace {

constexpr float kNoLogit = -std::numeric_limits<float>::infinity();

/// The rows, each `each` times; x itself if that is once, or if it is undefined.
at::Tensor repeated_rows(const at::Tensor& x, int64_t each) {
  return x.defined() && each > 1 ? x.repeat_interleave(each, 0) : x;
}

}  // namespace

std::span<const float> without_padding(std::span<const float> row, const Prompt& prompt) {
  return prompt.output_tokens.empty() ? row : row.first(prompt.output_tokens.size());
}

int64_t token_of(int64_t column, const Prompt& prompt) {
  return prompt.output_tokens.empty() ? column
                                      : prompt.output_tokens[static_cast<std::size_t>(column)];
}

std::vector<float> scores_by_token(std::span<const float> row, const Prompt& prompt) {
  const auto& tokens = prompt.output_tokens;
  if (tokens.empty()) {
    return {row.begin(), row.end()};
  }
  std::vector<float> scores(static_cast<std::size_t>(tokens.back()) + 1, kNoLogit);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    scores[static_cast<std::size_t>(tokens[i])] = row[i];
  }
  return scores;
}

OutputSelection::OutputSelection(Model& model,
                                 const DecodingOutput& output,
                                 const std::vector<Prompt>& prompts)
    : model_(model), output_(output) {
  const auto limited = std::count_if(prompts.begin(), prompts.end(),
                                     [](const auto& p) { return !p.output_tokens.empty(); });
  if (limited == 0) {
    return;
  }
  TORCH_CHECK(limited == static_cast<int64_t>(prompts.size()), limited, " of ", prompts.size(),
              " prompts have output tokens, expected all or none");
  const auto all = select(prompts);
  std::size_t most = 0;
  for (const auto& prompt : prompts) {
    most = std::max(most, prompt.output_tokens.size());
  }
  std::vector<int64_t> columns;
  std::vector<int64_t> is_padding;
  for (const auto& prompt : prompts) {
    auto place = all.begin();
    for (const auto token : prompt.output_tokens) {
      place = std::lower_bound(place, all.end(), token);
      columns.push_back(place - all.begin());
    }
    const auto own = prompt.output_tokens.size();
    columns.insert(columns.end(), most - own, 0);
    is_padding.insert(is_padding.end(), own, 0);
    is_padding.insert(is_padding.end(), most - own, 1);
  }
  const auto rows = static_cast<int64_t>(prompts.size());
  const auto width = static_cast<int64_t>(most);
  if (std::find(is_padding.begin(), is_padding.end(), 1) != is_padding.end()) {
    is_padding_ = kernels::to_device(is_padding, model.device()).view({rows, width}).to(at::kBool);
  }
  if (is_padding_.defined() || most < all.size()) {
    columns_ = kernels::to_device(columns, model.device()).view({rows, width});
  }
  row_prompts_.resize(prompts.size());
  std::iota(row_prompts_.begin(), row_prompts_.end(), 0);
  row_columns_ = columns_;
  row_is_padding_ = is_padding_;
}

Tokens OutputSelection::select(const std::vector<Prompt>& prompts) {
  const auto vocabulary = model_.options().vocabulary;
  std::vector<bool> is_output(static_cast<std::size_t>(vocabulary), !output_.has_matrix());
  for (const auto& prompt : prompts) {
    TORCH_CHECK(std::is_sorted(prompt.output_tokens.begin(), prompt.output_tokens.end()) &&
                    prompt.output_tokens.front() >= 0 && prompt.output_tokens.back() < vocabulary,
                "output tokens must be ascending ids of the ", vocabulary, " of the model");
    for (const auto token : prompt.output_tokens) {
      is_output[static_cast<std::size_t>(token)] = true;
    }
  }
  Tokens all;
  for (int64_t token = 0; token < vocabulary; ++token) {
    if (is_output[static_cast<std::size_t>(token)]) {
      all.push_back(token);
    }
  }
  if (static_cast<int64_t>(all.size()) < vocabulary) {
    selected_ = output_.select(model_, all);
  }
  return all;
}

void OutputSelection::reorder(const std::vector<int64_t>& rows) {
  if (!columns_.defined()) {
    return;
  }
  std::vector<int64_t> row_prompts;
  row_prompts.reserve(rows.size());
  for (const auto row : rows) {
    row_prompts.push_back(row_prompts_[static_cast<std::size_t>(row)]);
  }
  if (row_prompts != row_prompts_) {  // not at every step of a beam search
    row_prompts_ = std::move(row_prompts);
    row_columns_ = select_rows(columns_, row_prompts_);
    row_is_padding_ = is_padding_.defined() ? select_rows(is_padding_, row_prompts_) : is_padding_;
  }
}

at::Tensor OutputSelection::logits(const nn::TokenStates& states, int64_t each) const {
  const at::NoGradGuard no_grad;
  auto logits = (selected_ ? *selected_ : output_).logits(model_, states);
  if (columns_.defined()) {
    logits = logits.gather(1, repeated_rows(row_columns_, each));
  }
  return row_is_padding_.defined()
             ? logits.masked_fill_(repeated_rows(row_is_padding_, each), kNoLogit)
             : logits;
}

}  // namespace weft::models
