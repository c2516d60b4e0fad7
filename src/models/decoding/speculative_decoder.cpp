#include "models/decoding/speculative_decoder.h"

#include <algorithm>
#include <map>
#include <span>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "models/decoding/output_tokens.h"
#include "models/decoding/sampler.h"

namespace weft::models {

SpeculativeDecoder::SpeculativeDecoder(ModelDecoder& model,
                                       ModelDecoder& draft,
                                       const std::vector<Prompt>& prompts,
                                       const DraftOptions& options,
                                       DraftCounts& counts)
    : model_(model), draft_(draft), prompts_(prompts), options_(options), counts_(counts) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    sequences_.push_back({.prompt = i, .tokens = prompts[i].tokens});
    is_drafting_ =
        is_drafting_ &&
        (options.length == 0 || static_cast<int64_t>(prompts[i].tokens.size()) < options.length);
  }
}

at::Tensor SpeculativeDecoder::first() {
  if (is_drafting_) {
    draft_.first();
  }
  return model_.first();
}

at::Tensor SpeculativeDecoder::next(const std::vector<int64_t>& rows, const Tokens& tokens) {
  const at::NoGradGuard guard;
  reorder(rows);
  if (take(tokens)) {
    ++used_;
    counts_.accepted += static_cast<int64_t>(tokens.size());
    return ahead_.select(1, used_);
  }
  const auto count = proposal_count();
  propose(count);
  auto inputs = unread(model_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& proposals = sequences_[i].proposals;
    inputs[i].insert(inputs[i].end(), proposals.begin(), proposals.end());
  }
  model_.state().mark();
  ahead_ = model_.extend(inputs, 1 + count);
  used_ = 0;
  return ahead_.select(1, 0);
}

void SpeculativeDecoder::reorder(const std::vector<int64_t>& rows) {
  std::vector<Sequence> sequences;
  std::map<int64_t, uint64_t> numbers;
  for (const auto row : rows) {
    sequences.push_back(sequences_[static_cast<std::size_t>(row)]);
    if (!has_samples_) {
      sequences.back().number = numbers[row]++;
    }
  }
  sequences_ = std::move(sequences);
  has_samples_ = true;
  model_.reorder(rows);
  if (is_drafting_) {
    draft_.reorder(rows);
  }
  if (ahead_.defined()) {
    ahead_ = select_rows(ahead_, rows);
  }
}

bool SpeculativeDecoder::take(const Tokens& tokens) {
  bool is_proposed = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto& sequence = sequences_[i];
    const auto position = static_cast<std::size_t>(used_);
    is_proposed = is_proposed && position < sequence.proposals.size() &&
                  sequence.proposals[position] == tokens[i];
    sequence.tokens.push_back(tokens[i]);
  }
  return is_proposed;
}

int64_t SpeculativeDecoder::proposal_count() const {
  auto count = is_drafting_ ? options_.tokens : 0;
  for (const auto& sequence : sequences_) {
    const auto& prompt = prompts_[sequence.prompt];
    const auto length = static_cast<int64_t>(sequence.tokens.size());
    const auto generated = length - static_cast<int64_t>(prompt.tokens.size());
    count = std::min(count, prompt.max_new_tokens - generated - 1);
    if (options_.length > 0) {
      count = std::min(count, options_.length - length + 1);  // it does not read its last proposal
    }
  }
  return std::max<int64_t>(count, 0);
}

void SpeculativeDecoder::propose(int64_t count) {
  for (auto& sequence : sequences_) {
    sequence.proposals.clear();
  }
  if (count == 0) {
    return;
  }
  auto inputs = unread(draft_);
  draft_.state().mark();
  for (int64_t i = 0; i < count; ++i) {
    const auto tokens = draft_tokens(draft_.extend(inputs, 1).select(1, 0));
    for (std::size_t b = 0; b < tokens.size(); ++b) {
      sequences_[b].proposals.push_back(tokens[b]);
      inputs[b] = {tokens[b]};
    }
  }
  counts_.proposed += count * static_cast<int64_t>(sequences_.size());
}

Tokens SpeculativeDecoder::draft_tokens(const at::Tensor& logits) const {
  Tokens tokens;
  if (!options_.sampling.is_enabled) {
    const auto best = logits.argmax(1).cpu();
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      tokens.push_back(token_of(best.const_data_ptr<int64_t>()[i], prompts_[sequences_[i].prompt]));
    }
    return tokens;
  }
  const auto scores = logits.to(at::kFloat).cpu().contiguous();
  const auto width = static_cast<std::size_t>(scores.size(1));
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    const auto& sequence = sequences_[i];
    const auto& prompt = prompts_[sequence.prompt];
    const auto position = sequence.tokens.size() - prompt.tokens.size() + sequence.proposals.size();
    const std::span<const float> row(scores.const_data_ptr<float>() + i * width, width);
    tokens.push_back(sample_token(scores_by_token(without_padding(row, prompt), prompt),
                                  options_.sampling, static_cast<uint64_t>(prompt.index),
                                  sample_position(sequence.number, position)));
  }
  return tokens;
}

std::vector<Tokens> SpeculativeDecoder::unread(ModelDecoder& decoder) const {
  auto& state = decoder.state();
  auto lengths = state.lengths();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    // The last token was chosen just now, so no pass has read it.
    lengths[i] = std::min(lengths[i], static_cast<int64_t>(sequences_[i].tokens.size()) - 1);
  }
  state.truncate(lengths);
  std::vector<Tokens> result;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto& tokens = sequences_[i].tokens;
    result.emplace_back(tokens.begin() + state.lengths()[i], tokens.end());
  }
  return result;
}

}  // namespace weft::models
