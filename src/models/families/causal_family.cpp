#include "models/families/causal_family.h"

#include "models/causal_model.h"
#include "models/config/stack_json.h"

namespace weft::models {

namespace {

InitialValues causal_initial(const std::string& /*parameter*/, const ModelOptions& options) {
  return {.deviation = options.deviation};
}

}  // namespace

FamilyDefinition causal_definition(const FamilyFacts& facts) {
  return {.word = facts.model_type,
          .facts = facts,
          .heads = {{Head::kNone, "Model"},
                    {Head::kCausalLm, "ForCausalLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"}},
          .traits = {.has_pooler = false, .has_segments = false},
          .generation_json = plain_generation_json,
          .initial = causal_initial,
          .make = construct<CausalModel>,
          .style = formats::SpecialStyle::kGpt2};
}

void add_causal_head(StoredBuilder& builder,
                     const ModelOptions& options,
                     const std::string& output,
                     const std::string& token) {
  const int64_t classes = head_outputs(options);
  if (options.head == Head::kCausalLm && !options.ties_embeddings) {
    builder.table("head", output, {options.vocabulary, options.dim}, Part::kHead);
  } else if (options.head == Head::kSequence) {
    builder.table("head", "score", {classes, options.dim}, Part::kHead);
  } else if (options.head == Head::kToken) {
    builder.linear("head", token, {.inputs = options.dim, .outputs = classes, .part = Part::kHead});
  }
}

}  // namespace weft::models
