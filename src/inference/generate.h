#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "inference/alignment.h"
#include "inference/shortlist.h"
#include "models/decoding/generation_config.h"
#include "models/decoding/speculative_decoder.h"
#include "models/inference.h"
#include "models/model.h"

namespace weft::inference {

/// A prompt to continue or, for an encoder-decoder, a source to answer.
struct GenerationRequest {
  std::string prompt;
  models::Tokens ids = {};  // of the prompt, with special tokens; if given, `prompt` is unused
  std::string prefix = {};  // start of the generated text
};

struct GeneratedText {
  std::string text;  // without end token and stop string
  models::Tokens ids;
  double score = 0;
  bool is_truncated = false;  // by the model's length, before its end or the requested length
  std::optional<Alignment> alignment = {};  // with its source, if requested
};

struct GenerationResult {
  std::vector<GeneratedText> texts;  // best first
  bool was_truncated = false;        // the prompt was longer than the model's limit
};

inline constexpr int64_t kPromptsPerBatch = 64;

struct GenerationSettings {
  models::GenerationConfig config;
  std::shared_ptr<models::Model> draft_model = nullptr;  // of speculative decoding, if any
  int64_t draft_tokens = models::DraftOptions{}.tokens;
  std::vector<std::string> stop_strings = {};  // texts end before these
  int64_t batch_size = kPromptsPerBatch;
  bool decodes_text = true;            // else only ids
  bool has_alignments = false;         // of encoder-decoders
  std::string source_prefix = {};      // prepended to every prompt of an encoder-decoder
  std::string source_language = {};    // its token; empty: the tokenizer's default
  std::function<void()> on_step = {};  // called once per step; may throw to abort
  /// Of an encoder-decoder: which tokens its texts consist of; nullopt: any.
  std::optional<ShortlistOptions> shortlist = {};
};

/// Generates texts. The result for a prompt does not depend on batching.
class TextGenerator {
 public:
  /// The tokenizer may be null if prompts and outputs are ids. Throws UserError for a model that
  /// cannot generate, and for a draft model that cannot propose its tokens; like Shortlist.
  TextGenerator(models::Model& model,
                std::shared_ptr<const data::Tokenizer> tokenizer,
                GenerationSettings settings);

  /// `first`: index of the first request among all; sampling depends on it.
  std::vector<GenerationResult> generate(const std::vector<GenerationRequest>& requests,
                                         int64_t first);

  /// The same for one request, without beam search; `on_text` receives the text in pieces.
  GenerationResult stream(const GenerationRequest& request,
                          const std::function<void(std::string_view)>& on_text);

  /// Of all texts so far.
  const models::DraftCounts& draft_counts() const { return draft_counts_; }

 private:
  void read_shortlist(const ShortlistOptions& options);
  void check_draft_model() const;
  models::Prompt make_prompt(const GenerationRequest& request,
                             int64_t index,
                             bool& was_truncated) const;
  const data::Tokenizer& source_tokenizer() const;
  const data::Tokenizer& target_tokenizer() const;
  void set_source(models::Prompt& prompt,
                  const GenerationRequest& request,
                  bool& was_truncated) const;
  /// `reserved`: tokens that follow the prompt.
  void set_prompt_tokens(models::Prompt& prompt,
                         const GenerationRequest& request,
                         int64_t reserved,
                         bool& was_truncated) const;
  std::vector<std::vector<models::Hypothesis>> search(const std::vector<models::Prompt>& prompts,
                                                      models::SearchHooks hooks);
  bool is_stopped(std::span<const int64_t> generated) const;
  std::string text_of(const models::Prompt& prompt, const models::Tokens& tokens) const;
  GeneratedText generated(const models::Prompt& prompt, const models::Hypothesis& hypothesis) const;

  models::Model& model_;
  models::DecodingOutput output_;
  models::DecodingOutput draft_output_;
  models::DraftCounts draft_counts_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  GenerationSettings settings_;
  std::optional<Shortlist> shortlist_;
  bool reads_source_;
};

}  // namespace weft::inference
