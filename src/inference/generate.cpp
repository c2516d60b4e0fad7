#include "inference/generate.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/datasets/parallel_dataset.h"
#include "data/datasets/sequence_template.h"
#include "inference/text_stream.h"
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

/// Tokens that are looked at for a stop: each has a byte of text at least, unless it is special or
/// completes a character.
constexpr std::size_t kSpareTokens = 8;

std::vector<int32_t> narrowed(std::span<const int64_t> ids) { return {ids.begin(), ids.end()}; }

/// Positions that the model has; 0: no end.
int64_t room_of(const models::ModelOptions& options) {
  return options.decoder.relative_buckets > 0 ? 0 : options.length;
}

}  // namespace

Generator::Generator(models::Model& model,
                     std::shared_ptr<const data::Tokenizer> tokenizer,
                     GenerationSettings settings)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      settings_(std::move(settings)),
      reads_source_(models::reads_source(model.options())) {
  if (!models::can_generate(model)) {
    throw UserError(models::architecture_of(model.options()) +
                    ": does not generate text; models with a causal or conditional head do");
  }
  if (!tokenizer_ && (settings_.gives_text || !settings_.stops.empty())) {
    throw UserError("texts need a tokenizer; ids alone do not");
  }
  output_ = models::prepare_for_decoding(model_);
}

/// Of prompts.
const data::Tokenizer& Generator::reader() const {
  if (!tokenizer_) {
    throw UserError("a prompt of text needs a tokenizer");
  }
  return *tokenizer_;
}

/// Of what is generated; where that goes on with the prompt, the same.
const data::Tokenizer& Generator::writer() const {
  const bool is_answer = reads_source_ || model_.options().decoder.prompt_end_id >= 0;
  return is_answer ? reader().target() : reader();
}

void Generator::set_source(Prompt& prompt, const GenerationQuery& query, bool& was_cut) const {
  prompt.source = query.ids;
  if (prompt.source.empty()) {
    auto ids = reader().ids(settings_.source_prefix + query.prompt);
    const auto frame =
        data::enclosure_of(*tokenizer_, settings_.source_language, "--source-language");
    const auto most = room_of(model_.options()) - frame.size();
    if (room_of(model_.options()) > 0 && static_cast<int64_t>(ids.size()) > most) {
      ids.resize(static_cast<std::size_t>(std::max<int64_t>(most, 0)));
      was_cut = true;
    }
    prompt.source = frame.before;
    prompt.source.insert(prompt.source.end(), ids.begin(), ids.end());
    prompt.source.insert(prompt.source.end(), frame.after.begin(), frame.after.end());
  }
  if (prompt.source.empty()) {
    throw UserError(
        "an empty source: the tokenizer adds no special tokens, so that nothing is "
        "left to read");
  }
  if (settings_.config.start_id < 0) {
    throw UserError(
        "no decoder_start_token_id in config.json or generation_config.json: it is not "
        "known what the decoder begins with (of mBART the answers' language: --target-language)");
  }
  prompt.tokens = {settings_.config.start_id};
}

/// Of a model without a source. Of too long prompts the end stays: that is what goes on.
void Generator::set_beginning(Prompt& prompt, const GenerationQuery& query, bool& was_cut) const {
  prompt.tokens = query.ids;
  if (prompt.tokens.empty()) {
    const auto ids = reader().ids(query.prompt);
    const data::SequenceTemplate frame(*tokenizer_, false);
    prompt.tokens = frame.before();
    prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
    if (model_.options().decoder.prompt_end_id >= 0) {
      prompt.tokens.push_back(model_.options().decoder.prompt_end_id);
    }
  }
  if (prompt.tokens.empty()) {
    const auto special = tokenizer_->special();
    const auto begin = special.begin >= 0 ? special.begin : special.end;
    if (begin < 0) {
      throw UserError("an empty prompt: the tokenizer has no token that begins a text");
    }
    prompt.tokens = {begin};
  }
  const auto room = room_of(model_.options());
  if (room > 0 && static_cast<int64_t>(prompt.tokens.size()) > room) {
    prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.end() - room);
    was_cut = true;
  }
}

Prompt Generator::prompt_of(const GenerationQuery& query, int64_t index, bool& was_cut) const {
  Prompt prompt{.tokens = {}, .index = index};
  if (reads_source_) {
    set_source(prompt, query, was_cut);
  } else {
    set_beginning(prompt, query, was_cut);
  }
  if (!query.prefix.empty()) {
    const auto ids = writer().ids(query.prefix);
    prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
    prompt.begun = static_cast<int64_t>(ids.size());
  }
  models::set_bounds(prompt, settings_.config, model_.options());
  const auto words = model_.options().vocabulary;
  for (const auto* ids : {&prompt.tokens, &prompt.source}) {
    for (const auto id : *ids) {
      if (id < 0 || (ids == &prompt.tokens && id >= words)) {
        throw UserError(text("prompt ", index + 1, ": id ", id, " is none of the model's ", words));
      }
    }
  }
  return prompt;
}

bool Generator::is_stopped(std::span<const int64_t> generated) const {
  std::size_t longest = 0;
  for (const auto& stop : settings_.stops) {
    longest = std::max(longest, stop.size());
  }
  const auto ending = generated.last(std::min(generated.size(), longest + kSpareTokens));
  const auto tail = writer().decode(narrowed(ending));
  return before_stops(tail, settings_.stops).size() < tail.size();
}

std::vector<std::vector<Hypothesis>> Generator::search(const std::vector<Prompt>& prompts,
                                                       models::SearchHooks hooks) {
  if (!settings_.stops.empty()) {
    hooks.is_stopped = [this](auto generated) { return is_stopped(generated); };
  }
  hooks.on_step = settings_.on_step;
  models::ModelDecoder decoder(model_, output_, prompts);
  return models::search(decoder, prompts, settings_.config.search, hooks);
}

/// The new text. Some tokenizers write no space before a text's first word, so that of a text that
/// goes on what is new is found by writing both.
std::string Generator::text_of(const Prompt& prompt, const Tokens& tokens) const {
  if (reads_source_) {
    return writer().decode(narrowed(tokens));
  }
  auto all = prompt.tokens;
  const auto before = tokenizer_->decode(narrowed(all));
  all.insert(all.end(), tokens.begin(), tokens.end());
  const auto whole = tokenizer_->decode(narrowed(all));
  return whole.starts_with(before) ? whole.substr(before.size())
                                   : tokenizer_->decode(narrowed(tokens));
}

GeneratedText Generator::generated(const Prompt& prompt, const Hypothesis& hypothesis) const {
  GeneratedText result{
      .text = {},
      .ids = hypothesis.tokens,
      .score = hypothesis.score,
      .is_cut = models::is_cut_by_length(hypothesis, prompt, settings_.config.search)};
  if (settings_.gives_text) {
    auto tokens = hypothesis.tokens;
    if (!tokens.empty() && models::is_end(tokens.back(), settings_.config.search)) {
      tokens.pop_back();
    }
    if (reads_source_) {  // a prefix is part of the answer
      tokens.insert(tokens.begin(), prompt.tokens.begin() + 1, prompt.tokens.end());
    }
    const auto written = text_of(prompt, tokens);
    result.text = std::string(before_stops(written, settings_.stops));
  }
  return result;
}

std::vector<GenerationAnswer> Generator::answer(const std::vector<GenerationQuery>& queries,
                                                int64_t first) {
  std::vector<GenerationAnswer> answers(queries.size());
  const auto batch = static_cast<std::size_t>(settings_.batch);
  for (std::size_t begin = 0; begin < queries.size(); begin += batch) {
    const auto end = std::min(begin + batch, queries.size());
    std::vector<Prompt> prompts;
    for (auto i = begin; i < end; ++i) {
      prompts.push_back(prompt_of(queries[i], first + static_cast<int64_t>(i), answers[i].was_cut));
    }
    const auto found = search(prompts, {});
    for (auto i = begin; i < end; ++i) {
      for (const auto& hypothesis : found[i - begin]) {
        answers[i].texts.push_back(generated(prompts[i - begin], hypothesis));
      }
    }
  }
  return answers;
}

GenerationAnswer Generator::stream(const GenerationQuery& query,
                                   const std::function<void(std::string_view)>& on_text) {
  GenerationAnswer answer;
  const std::vector<Prompt> prompts{prompt_of(query, 0, answer.was_cut)};
  TextStream shown(settings_.stops);
  Tokens tokens;  // that are text
  if (reads_source_) {
    tokens.assign(prompts[0].tokens.begin() + 1, prompts[0].tokens.end());
  }
  models::SearchHooks hooks;
  hooks.on_token = [&](int64_t, int64_t token) {
    if (!models::is_end(token, settings_.config.search)) {
      tokens.push_back(token);
      on_text(shown.next(text_of(prompts[0], tokens)));
    }
  };
  const auto found = search(prompts, hooks);
  answer.texts.push_back(generated(prompts[0], found[0][0]));
  on_text(shown.rest(answer.texts[0].text));
  return answer;
}

}  // namespace weft::inference
