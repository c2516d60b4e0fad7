#include "inference/likelihood.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/codepoints.h"
#include "base/error.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/datasets/sequence_template.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/model.h"
#include "nn/forward_context.h"

namespace weft::inference {

using models::Tokens;

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kPendingBatches = 64;  // of a text: its windows may be many times its size

/// Moves white space at the end of the context to the continuation.
Continuation move_trailing_space(const Continuation& item) {
  auto context = utf8::decode(item.context);
  std::size_t end = context.size();
  while (end > 0 && is_python_space(context[end - 1])) {
    --end;
  }
  return {
      .context = utf8::encode(std::u32string_view(context).substr(0, end)),
      .continuation = utf8::encode(std::u32string_view(context).substr(end)) + item.continuation};
}

kernels::Layout layout_of(const std::vector<int64_t>& offsets, const at::Device& device) {
  return kernels::Layout::from_offsets(offsets, device);
}

}  // namespace

LikelihoodScorer::LikelihoodScorer(models::Model& model,
                                   const data::Tokenizer& tokenizer,
                                   LikelihoodSettings settings)
    : model_(model),
      tokenizer_(tokenizer),
      settings_(std::move(settings)),
      reads_source_(models::is_encoder_decoder(model.options())) {
  if (!models::can_generate(model)) {
    throw UserError(models::architecture_of(model.options()) +
                    ": cannot compute likelihoods of texts, must be a model with a causal or "
                    "conditional generation head");
  }
  const auto& options = model.options();
  const auto limit = models::position_limit(options);
  if (limit > 0 && settings_.max_length > limit) {
    throw UserError(str_cat("max_length ", settings_.max_length, ": must be at most ", limit,
                            ", the number of positions of the model"));
  }
  length_ = settings_.max_length > 0 ? settings_.max_length : limit > 0 ? limit : kUnlimited;
  window_ = settings_.max_length > 0 ? settings_.max_length : options.length;
  if (settings_.stride > window_) {
    throw UserError(str_cat("stride ", settings_.stride, ": must be at most ", window_,
                            ", the tokens of a window (max_length)"));
  }
  stride_ = settings_.stride > 0 ? settings_.stride : window_;
  if (reads_source_ && options.decoder.decoder_start_id < 0) {
    throw UserError("no decoder_start_token_id in config.json: the first decoder token is unknown");
  }
}

int64_t LikelihoodScorer::begin_token() const {
  const auto special = tokenizer_.special_token_ids();
  const auto& options = model_.options();
  for (const int64_t id :
       {int64_t{special.bos}, int64_t{special.eos}, options.bos_id, options.eos_id}) {
    if (id >= 0) {
      return id;
    }
  }
  throw UserError(
      "an empty context: neither the tokenizer nor the model has a token that begins or ends a "
      "text");
}

void LikelihoodScorer::add_continuation(std::size_t item,
                                        const Continuation& raw,
                                        Pending& pending) const {
  const auto [before, after] = move_trailing_space(raw);
  auto& result = pending.results[item];
  Window window{.item = item, .source = {}, .inputs = {}, .targets = {}};
  const auto& decoder = model_.options().decoder;
  Tokens context;
  if (reads_source_) {
    const data::SequenceTemplate frame(tokenizer_, false);
    context = frame.before();
    const auto ids = tokenizer_.ids(before);
    context.insert(context.end(), ids.begin(), ids.end());
    context.insert(context.end(), frame.after().begin(), frame.after().end());
    window.targets = tokenizer_.target().ids(after);
  } else if (const auto end = model_.options().prefix_end_id; end >= 0 && !before.empty()) {
    context = tokenizer_.ids(before);
    context.push_back(end);
    // Tokenised separately, as in training.
    window.targets = tokenizer_.target().ids(trim(after));
  } else {
    context = tokenizer_.ids(before);
    const auto whole = tokenizer_.ids(before + after);
    const auto begin = std::min(context.size(), whole.size());
    window.targets.assign(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end());
    if (context.empty()) {
      context = {begin_token()};
    }
  }
  const auto limit = static_cast<std::size_t>(length_);
  if (window.targets.size() > limit) {
    result.was_truncated = true;
    if (!reads_source_ && !model_.options().is_prefix_lm && model_.options().prefix_end_id < 0) {
      return add_windows(item, context.back(), window.targets, pending);
    }
    window.targets.erase(window.targets.begin(), window.targets.end() - length_);
  }
  if (reads_source_) {
    if (context.size() > limit) {
      context.erase(context.begin(), context.end() - length_);
      result.was_truncated = true;
    }
    window.source = std::move(context);
    window.inputs = {decoder.decoder_start_id};
  } else {
    const auto most = limit + 1 - window.targets.size();
    if (context.size() > most) {
      context.erase(context.begin(), context.end() - static_cast<std::ptrdiff_t>(most));
      result.was_truncated = true;
    }
    window.inputs = std::move(context);
    window.prefix = model_.options().is_prefix_lm ? static_cast<int64_t>(window.inputs.size()) : 0;
  }
  if (!window.targets.empty()) {
    window.inputs.insert(window.inputs.end(), window.targets.begin(), window.targets.end() - 1);
  }
  add(std::move(window), pending);
}

void LikelihoodScorer::add_windows(std::size_t item,
                                   int64_t before,
                                   const Tokens& tokens,
                                   Pending& pending) const {
  const auto limit =
      static_cast<std::size_t>(std::min<int64_t>(window_, static_cast<int64_t>(tokens.size())));
  Window first{.item = item, .source = {}, .inputs = {before}, .targets = {}};
  first.targets.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(limit));
  first.inputs.insert(first.inputs.end(), first.targets.begin(), first.targets.end() - 1);
  add(std::move(first), pending);
  for (auto done = limit; done < tokens.size();) {
    const auto end = std::min(done + static_cast<std::size_t>(stride_), tokens.size());
    Window next{.item = item, .source = {}, .inputs = {}, .targets = {}};
    const auto at = [&](std::size_t index) {
      return tokens.begin() + static_cast<std::ptrdiff_t>(index);
    };
    next.targets.assign(at(done), at(end));
    next.inputs.assign(at(end - static_cast<std::size_t>(window_) - 1), at(end - 1));
    add(std::move(next), pending);
    done = end;
  }
}

void LikelihoodScorer::add(Window window, Pending& pending) const {
  if (window.targets.empty()) {
    return;
  }
  pending.tokens += window.token_count();
  pending.windows.push_back(std::move(window));
  if (pending.tokens >= pending.most_tokens) {
    compute(pending);
  }
}

std::vector<Likelihood> LikelihoodScorer::score(const std::vector<Continuation>& items) const {
  std::vector<Likelihood> results(items.size());
  Pending pending{.results = results, .most_tokens = kUnlimited, .text_tokens = 0};
  for (std::size_t i = 0; i < items.size(); ++i) {
    add_continuation(i, items[i], pending);
  }
  compute(pending);
  return results;
}

std::vector<Likelihood> LikelihoodScorer::score_texts(const std::vector<std::string>& texts) const {
  if (reads_source_) {
    throw UserError(models::architecture_of(model_.options()) +
                    ": an encoder-decoder needs a source; only causal models give the likelihood "
                    "of a whole text");
  }
  std::vector<Likelihood> results(texts.size());
  std::vector<Tokens> tokens;
  Pending pending{.results = results,
                  .most_tokens = kPendingBatches * settings_.batch_tokens,
                  .text_tokens = 0};
  for (const auto& text : texts) {
    tokens.push_back(tokenizer_.ids(text));
    pending.text_tokens += static_cast<int64_t>(tokens.back().size());
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!tokens[i].empty()) {
      add_windows(i, begin_token(), tokens[i], pending);
    }
  }
  compute(pending);
  return results;
}

void LikelihoodScorer::compute(Pending& pending) const {
  const at::NoGradGuard guard;
  const auto windows = std::exchange(pending.windows, {});
  pending.tokens = 0;
  std::vector<const Window*> order;
  for (const auto& window : windows) {
    order.push_back(&window);
  }
  // Batches similar lengths: attention pads inside a batch.
  std::stable_sort(order.begin(), order.end(), [](const Window* a, const Window* b) {
    return a->token_count() < b->token_count();
  });
  std::vector<const Window*> batch;
  int64_t token_count = 0;
  for (const auto* window : order) {
    if (!batch.empty() && token_count + window->token_count() > settings_.batch_tokens) {
      compute_batch(batch, pending);
      batch.clear();
      token_count = 0;
    }
    batch.push_back(window);
    token_count += window->token_count();
  }
  if (!batch.empty()) {
    compute_batch(batch, pending);
  }
}

void LikelihoodScorer::compute_batch(const std::vector<const Window*>& batch,
                                     Pending& pending) const {
  if (settings_.on_step) {
    settings_.on_step();
  }
  Tokens source;
  Tokens ids;
  Tokens rows;
  Tokens targets;
  std::vector<int64_t> source_offsets{0};
  std::vector<int64_t> offsets{0};
  nn::ForwardContext context;
  for (const auto* window : batch) {
    source.insert(source.end(), window->source.begin(), window->source.end());
    source_offsets.push_back(static_cast<int64_t>(source.size()));
    ids.insert(ids.end(), window->inputs.begin(), window->inputs.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
    if (model_.options().is_prefix_lm) {
      context.prefix_lengths.push_back(window->prefix);
    }
    const auto count = static_cast<int64_t>(window->targets.size());
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(offsets.back() - count + i);
    }
    targets.insert(targets.end(), window->targets.begin(), window->targets.end());
  }
  const auto device = model_.device();
  nn::EncoderStates encoder_states;
  context.layout = layout_of(offsets, device);
  if (reads_source_) {
    nn::ForwardContext encoder_context;
    encoder_context.layout = layout_of(source_offsets, device);
    encoder_states.states =
        model_.encode({.ids = kernels::to_device(source, device), .patches = {}}, encoder_context);
    encoder_states.layout = encoder_context.layout;
    context.encoder_states = &encoder_states;
  }
  const models::TextInput input{.ids = kernels::to_device(ids, device), .types = {}};
  const auto states = models::selected_token_states(
      model_, input, context, nn::RowSelection::from_rows(rows, context, 0));  // (M, D)
  const auto metrics = model_.lm_metrics(states, targets);
  std::size_t at = 0;
  for (const auto* window : batch) {
    auto& result = pending.results[window->item];
    for (const auto target : window->targets) {
      result.log_probability -= metrics.losses[at];
      result.is_greedy = result.is_greedy && metrics.predictions[at] == target;
      ++result.tokens;
      ++at;
    }
  }
  pending.scored += static_cast<int64_t>(at);
  if (pending.text_tokens > 0 && settings_.on_progress) {
    settings_.on_progress(static_cast<double>(pending.scored) /
                          static_cast<double>(pending.text_tokens));
  }
}

}  // namespace weft::inference
