#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "kernels/linear/product.h"
#include "models/decoding/generation_config.h"
#include "models/model.h"

namespace weft::inference {

/// What a model is to go on with, or, where it is an encoder-decoder, what it is to answer.
struct GenerationQuery {
  std::string prompt;
  models::Tokens ids = {};  // of the prompt, special ones too; where they are there no text is read
  std::string prefix = {};  // what the new text begins with
};

struct GeneratedText {
  std::string text;  // without what ends it
  models::Tokens ids;
  double score = 0;
  bool is_cut = false;  // by the model's length, before it ended or was as long as wanted
};

struct GenerationAnswer {
  std::vector<GeneratedText> texts;  // best first
  bool was_cut = false;              // the prompt was longer than the model takes
};

struct GenerationSettings {
  models::GenerationConfig config;
  std::vector<std::string> stops = {};  // texts end before these
  int64_t batch = 32;                   // prompts at once
  bool gives_text = true;               // else ids alone
  std::string source_prefix = {};       // before every prompt of an encoder-decoder
  std::string source_language = {};     // token of it; empty: the tokenizer's own
  std::function<void()> on_step = {};   // called once a step; may throw to end it all
};

/// Generates texts, prompt by prompt the same however they are batched.
class Generator {
 public:
  /// The tokenizer may be missing where prompts and answers are ids. Throws UserError for a model
  /// that does not generate.
  Generator(models::Model& model,
            std::shared_ptr<const data::Tokenizer> tokenizer,
            GenerationSettings settings);

  /// `first`: the number of the first query among all, which its draws hang on.
  std::vector<GenerationAnswer> answer(const std::vector<GenerationQuery>& queries, int64_t first);

  /// The same of one query, without beams; `on_text` gets the text piece by piece.
  GenerationAnswer stream(const GenerationQuery& query,
                          const std::function<void(std::string_view)>& on_text);

 private:
  models::Prompt prompt_of(const GenerationQuery& query, int64_t index, bool& was_cut) const;
  const data::Tokenizer& reader() const;
  const data::Tokenizer& writer() const;
  void set_source(models::Prompt& prompt, const GenerationQuery& query, bool& was_cut) const;
  void set_beginning(models::Prompt& prompt, const GenerationQuery& query, bool& was_cut) const;
  std::vector<std::vector<models::Hypothesis>> search(const std::vector<models::Prompt>& prompts,
                                                      models::SearchHooks hooks);
  bool is_stopped(std::span<const int64_t> generated) const;
  std::string text_of(const models::Prompt& prompt, const models::Tokens& tokens) const;
  GeneratedText generated(const models::Prompt& prompt, const models::Hypothesis& hypothesis) const;

  models::Model& model_;
  kernels::PackedMatrix output_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  GenerationSettings settings_;
  bool reads_source_;
};

}  // namespace weft::inference
