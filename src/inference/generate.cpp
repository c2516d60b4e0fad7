#include "inference/generate.h"

#include <algorithm>

#include "base/error.h"
#include "base/string_util.h"
#include "data/datasets/parallel_dataset.h"
#include "data/datasets/sequence_template.h"
#include "inference/streaming_detokenizer.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/inference.h"

namespace weft::inference {

using models::Hypothesis;
using models::Prompt;
using models::Tokens;

namespace {

/// Extra tokens decoded to find a stop string: each token is at least one byte of text, unless it
/// is special or completes a character.
constexpr std::size_t kStopMarginTokens = 8;

std::vector<int32_t> to_int32(std::span<const int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

TextGenerator::TextGenerator(models::Model& model,
                             std::shared_ptr<const data::Tokenizer> tokenizer,
                             GenerationSettings settings)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      settings_(std::move(settings)),
      reads_source_(models::is_encoder_decoder(model.options())) {
  if (!models::can_generate(model)) {
    throw UserError(
        models::architecture_of(model.options()) +
        ": cannot generate text, must be a model with a causal or conditional generation head");
  }
  if (!tokenizer_ && (settings_.decodes_text || !settings_.stop_strings.empty())) {
    throw UserError("text input needs a tokenizer; ids do not");
  }
  if (settings_.has_alignments && !reads_source_) {
    throw UserError(models::architecture_of(model.options()) +
                    ": has no alignments, must be an encoder-decoder");
  }
  if (settings_.shortlist) {
    read_shortlist(*settings_.shortlist);
  }
  output_ = models::prepare_for_decoding(model_);
  if (settings_.draft_model) {
    check_draft_model();
    draft_output_ = models::prepare_for_decoding(*settings_.draft_model);
  }
}

void TextGenerator::read_shortlist(const ShortlistOptions& options) {
  if (!reads_source_) {
    throw UserError(models::architecture_of(model_.options()) +
                    ": reads no source that a shortlist could have translations of, must be an "
                    "encoder-decoder");
  }
  if (!tokenizer_) {
    throw UserError("a shortlist needs a tokenizer");
  }
  const auto& search = settings_.config.search;
  auto required = search.eos_ids;
  for (const auto forced : {search.rules.forced_bos_token, search.rules.forced_eos_token}) {
    if (forced >= 0) {
      required.push_back(forced);
    }
  }
  shortlist_.emplace(options, *tokenizer_, required);
}

void TextGenerator::check_draft_model() const {
  const auto& own = model_.options();
  const auto& draft = settings_.draft_model->options();
  if (!models::can_generate(*settings_.draft_model) ||
      models::is_encoder_decoder(draft) != reads_source_) {
    throw UserError(str_cat("draft model: ", models::architecture_of(draft),
                            " cannot propose tokens of ", models::architecture_of(own), ", only ",
                            reads_source_ ? "an encoder-decoder" : "a model that continues texts",
                            " can"));
  }
  if (draft.vocabulary != own.vocabulary) {
    throw UserError(str_cat("draft model: has a vocabulary of ", draft.vocabulary,
                            ", the model of ", own.vocabulary,
                            ": they must have the same tokenizer"));
  }
  if (settings_.config.search.num_beams > 1) {
    throw UserError(
        "draft model: cannot be used with beam search, only with greedy decoding and "
        "sampling");
  }
}

/// Tokenizer of prompts.
const data::Tokenizer& TextGenerator::source_tokenizer() const {
  if (!tokenizer_) {
    throw UserError("a text prompt needs a tokenizer");
  }
  return *tokenizer_;
}

/// Tokenizer of the output; the prompt's if the output continues the prompt.
const data::Tokenizer& TextGenerator::target_tokenizer() const {
  const bool is_answer = reads_source_ || model_.options().prefix_end_id >= 0;
  return is_answer ? source_tokenizer().target() : source_tokenizer();
}

void TextGenerator::set_source(Prompt& prompt,
                               const GenerationRequest& request,
                               bool& was_truncated) const {
  prompt.source = request.ids;
  if (prompt.source.empty()) {
    auto ids = source_tokenizer().ids(settings_.source_prefix + request.prompt);
    const auto frame =
        data::language_tokens(*tokenizer_, settings_.source_language, "--source-language");
    const auto most = models::position_limit(model_.options()) - frame.size();
    if (models::position_limit(model_.options()) > 0 && static_cast<int64_t>(ids.size()) > most) {
      ids.resize(static_cast<std::size_t>(std::max<int64_t>(most, 0)));
      was_truncated = true;
    }
    prompt.source = frame.before;
    prompt.source.insert(prompt.source.end(), ids.begin(), ids.end());
    prompt.source.insert(prompt.source.end(), frame.after.begin(), frame.after.end());
  }
  if (prompt.source.empty()) {
    throw UserError(
        "an empty source: the tokenizer adds no special tokens, so the encoder has no input");
  }
  if (settings_.config.decoder_start_id < 0) {
    throw UserError(
        "no decoder_start_token_id in config.json or generation_config.json: the first decoder "
        "token is unknown (mBART: give the language of the output with --target-language)");
  }
  prompt.tokens = {settings_.config.decoder_start_id};
  if (shortlist_) {
    prompt.output_tokens = shortlist_->tokens(prompt.source);
    std::erase_if(prompt.output_tokens,
                  [&](int64_t id) { return id >= model_.options().vocabulary; });
  }
}

/// For models without a source. Prompts that are too long keep their end, which is continued.
void TextGenerator::set_prompt_tokens(Prompt& prompt,
                                      const GenerationRequest& request,
                                      int64_t reserved,
                                      bool& was_truncated) const {
  prompt.tokens = request.ids;
  if (prompt.tokens.empty()) {
    const auto ids = source_tokenizer().ids(request.prompt);
    const data::SequenceTemplate frame(*tokenizer_, false);
    prompt.tokens = frame.before();
    prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
    if (model_.options().prefix_end_id >= 0) {
      prompt.tokens.push_back(model_.options().prefix_end_id);
    }
  }
  if (prompt.tokens.empty()) {
    const auto special = tokenizer_->special_token_ids();
    const auto begin = special.bos >= 0 ? special.bos : special.eos;
    if (begin < 0) {
      throw UserError("an empty prompt: the tokenizer has no token to start a text with");
    }
    prompt.tokens = {begin};
  }
  const auto limit = models::position_limit(model_.options()) - reserved;
  if (limit > 0 && static_cast<int64_t>(prompt.tokens.size()) > limit) {
    prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.end() - limit);
    was_truncated = true;
  }
}

Prompt TextGenerator::make_prompt(const GenerationRequest& request,
                                  int64_t index,
                                  bool& was_truncated) const {
  Prompt prompt{.tokens = {}, .index = index};
  const auto prefix =
      request.prefix.empty() ? models::Tokens() : target_tokenizer().ids(request.prefix);
  prompt.answer_tokens = std::ssize(prefix);
  const auto limit = models::position_limit(model_.options());
  if (limit > 0 && prompt.answer_tokens >= limit) {
    throw UserError(str_cat("prompt ", index + 1, ": a prefix of ", prompt.answer_tokens,
                            " tokens, must be shorter than the model's maximum of ", limit));
  }
  if (reads_source_) {
    set_source(prompt, request, was_truncated);
  } else {
    set_prompt_tokens(prompt, request, prompt.answer_tokens, was_truncated);
  }
  prompt.tokens.insert(prompt.tokens.end(), prefix.begin(), prefix.end());
  models::set_length_limits(prompt, settings_.config, model_.options());
  const auto words = model_.options().vocabulary;
  for (const auto* ids : {&prompt.tokens, &prompt.source}) {
    for (const auto id : *ids) {
      if (id < 0 || (ids == &prompt.tokens && id >= words)) {
        throw UserError(
            str_cat("prompt ", index + 1, ": id ", id, " is not one of the model's ", words));
      }
    }
  }
  return prompt;
}

bool TextGenerator::is_stopped(std::span<const int64_t> generated) const {
  std::size_t longest = 0;
  for (const auto& stop : settings_.stop_strings) {
    longest = std::max(longest, stop.size());
  }
  const auto ending = generated.last(std::min(generated.size(), longest + kStopMarginTokens));
  const auto tail = target_tokenizer().decode(to_int32(ending));
  return truncate_at_stop(tail, settings_.stop_strings).size() < tail.size();
}

std::vector<std::vector<Hypothesis>> TextGenerator::search(const std::vector<Prompt>& prompts,
                                                           models::SearchHooks hooks) {
  if (!settings_.stop_strings.empty()) {
    hooks.is_stopped = [this](auto generated) { return is_stopped(generated); };
  }
  hooks.on_step = settings_.on_step;
  models::ModelDecoder decoder(model_, output_, prompts);
  if (!settings_.draft_model) {
    return models::search(decoder, prompts, settings_.config.search, hooks);
  }
  models::ModelDecoder draft(*settings_.draft_model, draft_output_, prompts);
  const models::DraftOptions options{
      .tokens = settings_.draft_tokens,
      .length = models::position_limit(settings_.draft_model->options()),
      .sampling = settings_.config.search.sampling};
  models::SpeculativeDecoder speculative(decoder, draft, prompts, options, draft_counts_);
  return models::search(speculative, prompts, settings_.config.search, hooks);
}

/// The new text. Some tokenizers write no space before the first word of a text, so the new part of
/// a continuation is found by decoding the prompt with and without it.
std::string TextGenerator::text_of(const Prompt& prompt, const Tokens& tokens) const {
  if (reads_source_) {
    return target_tokenizer().decode(to_int32(tokens));
  }
  auto all = prompt.tokens;
  const auto before = tokenizer_->decode(to_int32(all));
  all.insert(all.end(), tokens.begin(), tokens.end());
  const auto whole = tokenizer_->decode(to_int32(all));
  return whole.starts_with(before) ? whole.substr(before.size())
                                   : tokenizer_->decode(to_int32(tokens));
}

GeneratedText TextGenerator::generated(const Prompt& prompt, const Hypothesis& hypothesis) const {
  GeneratedText result{
      .text = {},
      .ids = hypothesis.tokens,
      .score = hypothesis.score,
      .is_truncated = models::is_truncated_by_length(hypothesis, prompt, settings_.config.search)};
  if (settings_.decodes_text) {
    auto tokens = hypothesis.tokens;
    if (!tokens.empty() && models::is_end(tokens.back(), settings_.config.search)) {
      tokens.pop_back();
    }
    if (reads_source_) {  // the prefix is part of the output
      tokens.insert(tokens.begin(), prompt.tokens.begin() + 1, prompt.tokens.end());
    }
    const auto written = text_of(prompt, tokens);
    result.text = std::string(truncate_at_stop(written, settings_.stop_strings));
  }
  if (settings_.has_alignments) {
    result.alignment =
        align(model_, source_tokenizer(), prompt.source, prompt.tokens, hypothesis.tokens);
  }
  return result;
}

std::vector<GenerationResult> TextGenerator::generate(
    const std::vector<GenerationRequest>& requests, int64_t first) {
  std::vector<GenerationResult> results(requests.size());
  const auto batch = static_cast<std::size_t>(settings_.batch_size);
  for (std::size_t begin = 0; begin < requests.size(); begin += batch) {
    const auto end = std::min(begin + batch, requests.size());
    std::vector<Prompt> prompts;
    for (auto i = begin; i < end; ++i) {
      prompts.push_back(
          make_prompt(requests[i], first + static_cast<int64_t>(i), results[i].was_truncated));
    }
    const auto found = search(prompts, {});
    for (auto i = begin; i < end; ++i) {
      for (const auto& hypothesis : found[i - begin]) {
        results[i].texts.push_back(generated(prompts[i - begin], hypothesis));
      }
    }
  }
  return results;
}

GenerationResult TextGenerator::stream(const GenerationRequest& request,
                                       const std::function<void(std::string_view)>& on_text) {
  GenerationResult result;
  const std::vector<Prompt> prompts{make_prompt(request, 0, result.was_truncated)};
  StreamingDetokenizer detokenizer(settings_.stop_strings);
  Tokens tokens;  // without end tokens
  if (reads_source_) {
    tokens.assign(prompts[0].tokens.begin() + 1, prompts[0].tokens.end());
  }
  models::SearchHooks hooks;
  hooks.on_token = [&](int64_t, int64_t token) {
    if (!models::is_end(token, settings_.config.search)) {
      tokens.push_back(token);
      on_text(detokenizer.next(text_of(prompts[0], tokens)));
    }
  };
  const auto found = search(prompts, hooks);
  result.texts.push_back(generated(prompts[0], found[0][0]));
  on_text(detokenizer.flush(result.texts[0].text));
  return result;
}

}  // namespace weft::inference
