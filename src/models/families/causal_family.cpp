#include "models/families/causal_family.h"

#include "models/causal_model.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"

namespace weft::models {

namespace {

Initializer causal_initial(const std::string& /*parameter*/, const ModelOptions& options) {
  return {.init_std = options.init_std};
}

}  // namespace

FamilyDefinition causal_definition(const HfNames& hf_names) {
  return {.name = hf_names.model_type,
          .hf_names = {hf_names},
          .heads = {{Head::kNone, "Model"},
                    {Head::kCausalLm, "ForCausalLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"}},
          .capabilities = {.has_pooler = false, .has_segments = false},
          .generation_json = plain_generation_json,
          .initializer = causal_initial,
          .make = construct<CausalModel>,
          .style = formats::TokenizerTemplate::kGpt2};
}

void add_causal_head(WeightMapBuilder& builder,
                     const ModelOptions& options,
                     const std::string& output,
                     const std::string& token) {
  const int64_t classes = head_outputs(options);
  const auto& head = head_of(options);
  if (head.predicts_tokens && !options.tie_word_embeddings) {
    builder.table("head", output, {options.vocabulary, options.dim}, Part::kHead);
  } else if (head.classifies_sequences) {
    builder.table("head", "score", {classes, options.dim}, Part::kHead);
  } else if (head.classifies_tokens) {
    builder.linear("head", token, {.inputs = options.dim, .outputs = classes, .part = Part::kHead});
  }
}

}  // namespace weft::models
