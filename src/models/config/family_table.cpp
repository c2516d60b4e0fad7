#include <stdexcept>

#include "base/registry.h"
#include "models/config/family_definition.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

Registry<FamilyDefinition>& registered_families() {
  static Registry<FamilyDefinition> table("model family", {bert(),
                                                           roberta(),
                                                           xlm_roberta(),
                                                           distilbert(),
                                                           electra(),
                                                           modernbert(),
                                                           longformer(),
                                                           big_bird(),
                                                           nystromformer(),
                                                           albert(),
                                                           deberta(),
                                                           deberta_v1(),
                                                           funnel(),
                                                           bag_of_words(),
                                                           fasttext(),
                                                           decomposable_attention(),
                                                           gpt2(),
                                                           llama(),
                                                           mistral(),
                                                           qwen2(),
                                                           mixtral(),
                                                           gpt_neox(),
                                                           t5(),
                                                           mt5(),
                                                           switch_transformers(),
                                                           bart(),
                                                           mbart(),
                                                           marian(),
                                                           transformer(),
                                                           vit(),
                                                           deit(),
                                                           xlm(),
                                                           reformer(),
                                                           ngram(),
                                                           feed_forward_lm(),
                                                           elmo(),
                                                           seq2seq_rnn()});
  return table;
}

}  // namespace

config::Choices<Family> families() {
  config::Choices<Family> words;
  for (const auto& definition : registered_families().all()) {
    words.emplace_back(definition.name, &definition);
  }
  return words;
}

Family family_named(std::string_view name) { return &registered_families().at(name); }

void register_family(FamilyDefinition definition) {
  for (const auto& own : definition.hf_names) {
    for (const auto& [family, known] : all_hf_names()) {
      if (known.model_type == own.model_type) {
        throw std::invalid_argument(str_cat("model family '", definition.name, "': model_type '",
                                            own.model_type, "' belongs to ", family->name,
                                            ", choose another one"));
      }
    }
  }
  registered_families().add(std::move(definition));
}

}  // namespace weft::models
