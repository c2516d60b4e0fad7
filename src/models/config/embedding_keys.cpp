#include <string>

#include "base/string_util.h"
#include "models/config/component_keys.h"
#include "models/config/family.h"
#include "models/config/layer_type_keys.h"
#include "models/config/layer_types.h"
#include "models/config/shared_model_keys.h"
#include "nn/embedding/token_embedding.h"

namespace weft::models {

namespace {

constexpr auto kTiesKey = "tie_word_embeddings";
constexpr auto kWordTable = "words";  // the embedding type that every family has itself

}  // namespace

void read_embedding_type(config::Section& model, ModelOptions& options, const ModelOptions* base) {
  auto& choice = options.layer_types.embedding;
  const auto& registry = nn::token_embeddings();
  auto section = model.section("embedding", {.help = "The word embeddings."});
  std::string name = choice ? choice->type : kWordTable;
  section.read_name("type", name, registry.names(),
                    {.help = "words: a table. characters: a convolutional network over the "
                             "characters of a token. adaptive: a table with fewer dimensions for "
                             "rare tokens (arXiv:1809.10853).",
                     .suggests_nearest = true});
  if (section.is_documenting()) {
    nn::document_components(section, "type", registry);
  } else if (name == kWordTable) {
    choice.reset();
  } else {
    read_component_choice(section, registry, name, choice);
  }
  section.reject_unread();
  require_unchanged(model, "embedding", base == nullptr || choice == base->layer_types.embedding);
}

void read_ties(config::Section& model,
               ModelOptions& options,
               const ModelOptions* base,
               bool has_key) {
  const auto& types = options.layer_types;
  if (has_key) {
    model.read(kTiesKey, options.tie_word_embeddings,
               {.help = "Ties the output projection to the word embeddings."});
    if (base != nullptr) {
      require_unchanged(model, kTiesKey, options.tie_word_embeddings, base->tie_word_embeddings);
    }
  }
  if (model.is_documenting()) {
    return;
  }
  if (has_key && !has_output_matrix(types) && !shares_embedding(types, /*is_tied=*/true)) {
    model.reject_unused(kTiesKey, str_cat("has no effect with output.type: ", types.output->type,
                                          ", which has no matrix of the shape of the embeddings"));
  }
  if (const auto error = tie_error(types, options.tie_word_embeddings); !error.empty()) {
    if (has_key) {
      model.report(kTiesKey, error);
    } else if (options.tie_word_embeddings) {
      model.report("embedding",
                   str_cat(kTiesKey, " of ", word_of(options.family), " is always ", error));
    } else {
      model.report("output", error);
    }
  }
}

}  // namespace weft::models
