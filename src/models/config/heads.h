#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::models {

/// Definition of a head: one entry in heads.cpp. The model classes build its module from these
/// properties, and the families list the heads that they have.
struct HeadDefinition {
  Head head = Head::kNone;
  std::string_view name;  // of `weft import --head`

  // What it predicts. In brackets: the functions of Model that work only with such a head.
  bool is_bare = false;              // nothing: the hidden states are the output
  bool reads_last_block = false;     // and these are those of an encoder without its decoder
  bool predicts_tokens = false;      // words of the vocabulary (token_features, output_weight)
  bool generates = false;            // and these are the next tokens, from left to right
  bool predicts_neighbours = false;  // the next token, and apart from it the one before (lm_loss)
  bool reads_source = false;         // of a target text: an encoder reads its source (encode)
  bool predicts_next_sentence = false;   // does the second text follow? (next_sentence_logits)
  bool classifies_sequences = false;     // classes of texts or images (classify, class_logits)
  bool classifies_tokens = false;        // classes of tokens (token_logits)
  bool predicts_spans = false;           // does a span start or end at a token? (token_logits)
  bool detects_replaced_tokens = false;  // was a token replaced? (token_logits)
  bool predicts_pixels = false;          // pixels of masked patches (token_features)

  int64_t fixed_outputs = 0;      // of its classifier, where they do not depend on the classes
  int64_t classifiers = 1;        // their logits are averaged (classifier_logits)
  bool has_problem_type = false;  // may also regress, or predict several classes of a text

  /// objective.type that evaluates a model directory without weft.yaml; empty: none does.
  std::string_view objective = {};
  /// PEFT's task type; empty: PEFT has no wrapper for such models. Heads with a task type may be
  /// trained in full beside LoRA.
  std::string_view peft_task_type = {};

  // Names of tensors in transformers, and so of `weft forward`.
  std::vector<std::string_view> inputs = {};   // beside text or image
  std::vector<std::string_view> targets = {};  // of the loss, which needs all of them
  std::vector<std::string_view> outputs = {};  // beside the loss and the pooled state

  bool has_classes() const { return classifies_sequences || classifies_tokens; }
  bool predicts_words() const { return predicts_tokens || predicts_neighbours; }
  bool predicts_masked_tokens() const { return predicts_tokens && !generates; }
  bool has_token_logits() const {
    return classifies_tokens || predicts_spans || detects_replaced_tokens;
  }
  /// Whether it can be trained with prefixes that have bidirectional attention (prefix LM).
  bool takes_prefixes() const { return generates && !reads_source; }
};

/// All heads, in display order.
std::span<const HeadDefinition> head_table();

const HeadDefinition& definition_of(Head head);
const HeadDefinition& head_of(const ModelOptions& options);

/// Whether the model has a pooler, which transforms the state of the first token.
bool has_pooler(const ModelOptions& options);

}  // namespace weft::models
