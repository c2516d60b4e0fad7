#include "models/config/heads.h"

#include <algorithm>
#include <stdexcept>

#include "models/config/family.h"

namespace weft::models {

std::span<const HeadDefinition> head_table() {
  static const std::vector<HeadDefinition> kTable = {
      {.head = Head::kNone, .name = "none", .is_bare = true, .outputs = {"last_hidden_state"}},
      {.head = Head::kBase,
       .name = "base",
       .is_bare = true,
       .reads_last_block = true,
       .outputs = {"last_hidden_state"}},
      {.head = Head::kMaskedLm,
       .name = "mlm",
       .predicts_tokens = true,
       .objective = "mlm",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kPretraining,
       .name = "pretraining",
       .predicts_tokens = true,
       .predicts_next_sentence = true,
       .fixed_outputs = 2,
       .objective = "mlm",
       .targets = {"labels", "next_sentence_label"},
       .outputs = {"prediction_logits", "seq_relationship_logits"}},
      {.head = Head::kNextSentence,
       .name = "next_sentence",
       .predicts_next_sentence = true,
       .fixed_outputs = 2,
       .objective = "mlm",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kSequence,
       .name = "sequence",
       .classifies_sequences = true,
       .has_problem_type = true,
       .objective = "classify",
       .peft_task_type = "SEQ_CLS",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kToken,
       .name = "token",
       .classifies_tokens = true,
       .objective = "tag",
       .peft_task_type = "TOKEN_CLS",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kSpan,
       .name = "span",
       .predicts_spans = true,
       .fixed_outputs = 2,
       .peft_task_type = "QUESTION_ANS",
       .targets = {"start_positions", "end_positions"},
       .outputs = {"start_logits", "end_logits"}},
      {.head = Head::kReplacedToken,
       .name = "replaced_token",
       .detects_replaced_tokens = true,
       .fixed_outputs = 1,
       .objective = "replaced_token",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kCausalLm,
       .name = "causal_lm",
       .predicts_tokens = true,
       .generates = true,
       .objective = "causal",
       .inputs = {"prefix_lengths"},
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kBidirectionalLm,
       .name = "bidirectional_lm",
       .predicts_neighbours = true,
       .objective = "bidirectional_lm",
       .outputs = {"forward_logits", "backward_logits"}},
      {.head = Head::kConditional,
       .name = "conditional",
       .predicts_tokens = true,
       .generates = true,
       .reads_source = true,
       .objective = "seq2seq",
       .inputs = {"decoder_input_ids", "decoder_attention_mask"},
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kImage,
       .name = "image",
       .classifies_sequences = true,
       .objective = "classify",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kDistilledImage,
       .name = "distilled_image",
       .classifies_sequences = true,
       .classifiers = 2,
       .objective = "classify",
       .targets = {"labels"},
       .outputs = {"logits"}},
      {.head = Head::kMaskedImage,
       .name = "masked_image",
       .predicts_pixels = true,
       .objective = "masked_image",
       .targets = {"bool_masked_pos"},
       .outputs = {"reconstruction"}}};
  return kTable;
}

const HeadDefinition& definition_of(Head head) {
  const auto table = head_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& definition) { return definition.head == head; });
  if (found == table.end()) {
    throw std::logic_error("a head without a definition");
  }
  return *found;
}

const HeadDefinition& head_of(const ModelOptions& options) { return definition_of(options.head); }

bool has_pooler(const ModelOptions& options) {
  const auto& head = head_of(options);
  const auto& capabilities = capabilities_of(options.family);
  return head.is_bare ? capabilities.has_pooler
                      : capabilities.keeps_pooler || head.predicts_next_sentence ||
                            (head.classifies_sequences && capabilities.classifier_uses_pooler);
}

}  // namespace weft::models
