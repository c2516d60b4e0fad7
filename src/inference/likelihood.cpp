#include "inference/likelihood.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/codepoints.h"
#include "base/error.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/run_batches.h"
#include "data/datasets/sequence_template.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/model.h"

namespace weft::inference {

using models::Tokens;

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kPendingTokens = 1 << 18;  // of texts: windows may be many times their size

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
  data::Example window;
  Tokens targets;
  const auto& decoder = model_.options().decoder;
  Tokens context;
  if (reads_source_) {
    const data::SequenceTemplate frame(tokenizer_, false);
    context = frame.before();
    const auto ids = tokenizer_.ids(before);
    context.insert(context.end(), ids.begin(), ids.end());
    context.insert(context.end(), frame.after().begin(), frame.after().end());
    targets = tokenizer_.target().ids(after);
  } else if (const auto end = model_.options().prefix_end_id; end >= 0 && !before.empty()) {
    context = tokenizer_.ids(before);
    context.push_back(end);
    // Tokenised separately, as in training.
    targets = tokenizer_.target().ids(trim(after));
  } else {
    context = tokenizer_.ids(before);
    const auto whole = tokenizer_.ids(before + after);
    const auto begin = std::min(context.size(), whole.size());
    targets.assign(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end());
    if (context.empty()) {
      context = {begin_token()};
    }
  }
  const auto limit = static_cast<std::size_t>(length_);
  if (targets.size() > limit) {
    result.was_truncated = true;
    if (!reads_source_ && !model_.options().is_prefix_lm && model_.options().prefix_end_id < 0) {
      return add_windows(item, context.back(), targets, pending);
    }
    targets.erase(targets.begin(), targets.end() - length_);
  }
  if (reads_source_) {
    if (context.size() > limit) {
      context.erase(context.begin(), context.end() - length_);
      result.was_truncated = true;
    }
    window.source_ids = std::move(context);
    window.ids = {decoder.decoder_start_id};
  } else {
    const auto most = limit + 1 - targets.size();
    if (context.size() > most) {
      context.erase(context.begin(), context.end() - static_cast<std::ptrdiff_t>(most));
      result.was_truncated = true;
    }
    window.ids = std::move(context);
    window.prefix_length =
        model_.options().is_prefix_lm ? static_cast<int64_t>(window.ids.size()) : 0;
  }
  if (targets.empty()) {
    throw UserError(str_cat("the continuation ", quoted_text(raw.continuation),
                            " adds no token to its context ", quoted_text(raw.context),
                            ": it needs a text, or a delimiter between both"));
  }
  add(item, std::move(window), targets, pending);
}

void LikelihoodScorer::add_windows(std::size_t item,
                                   int64_t before,
                                   const Tokens& tokens,
                                   Pending& pending) const {
  const std::span<const int64_t> all(tokens);
  const auto window = static_cast<std::size_t>(window_);
  const auto stride = static_cast<std::size_t>(stride_);
  data::Example first;
  first.ids = {before};
  auto done = std::min(window, all.size());
  add(item, std::move(first), all.first(done), pending);
  while (done < all.size()) {
    const auto end = std::min(done + stride, all.size());
    const auto context = all.subspan(end - window - 1, done - (end - window - 1));
    data::Example next;
    next.ids.assign(context.begin(), context.end());
    add(item, std::move(next), all.subspan(done, end - done), pending);
    done = end;
  }
}

void LikelihoodScorer::add(std::size_t item,
                           data::Example window,
                           std::span<const int64_t> targets,
                           Pending& pending) const {
  for (const auto target : targets) {
    window.target_positions.push_back(window.tokens() - 1);
    window.targets.push_back(target);
    window.ids.push_back(target);
  }
  window.ids.pop_back();
  pending.tokens += window.total_tokens();
  pending.windows.push_back(std::move(window));
  pending.items.push_back(item);
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
  Pending pending{.results = results, .most_tokens = kPendingTokens, .text_tokens = 0};
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
  const auto windows = std::exchange(pending.windows, {});
  const auto items = std::exchange(pending.items, {});
  pending.tokens = 0;
  std::vector<Likelihood> scores(windows.size());
  std::mutex mutex;
  const auto run = [&](const data::Batch& batch) {
    if (settings_.on_step) {
      settings_.on_step();
    }
    const auto context = batching::context_of(batch, model_.device());
    const auto metrics =
        model_.lm_metrics(batching::target_states(model_, batch, context), batch.targets);
    std::size_t at = 0;
    for (const auto window : batch.items) {
      const auto index = static_cast<std::size_t>(window);
      auto& score = scores[index];
      for (const auto target : windows[index].targets) {
        score.log_probability -= metrics.losses[at];
        score.is_greedy = score.is_greedy && metrics.predictions[at] == target;
        ++score.tokens;
        ++at;
      }
    }
    const std::lock_guard lock(mutex);
    pending.scored += static_cast<int64_t>(at);
    if (pending.text_tokens > 0 && settings_.on_progress) {
      settings_.on_progress(static_cast<double>(pending.scored) /
                            static_cast<double>(pending.text_tokens));
    }
  };
  batching::run_batches(windows, model_.device(), settings_.batch_tokens, run);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto& result = pending.results[items[i]];
    result.log_probability += scores[i].log_probability;
    result.is_greedy = result.is_greedy && scores[i].is_greedy;
    result.tokens += scores[i].tokens;
  }
}

}  // namespace weft::inference
