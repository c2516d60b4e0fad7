#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/shared_model_keys.h"
#include "models/config/stack_keys.h"
#include "models/families/bert_kind.h"

namespace weft::models::bert_family {

namespace {

using config::Section;

/// Rejects sizes that the family does not have.
void reject_sizes(const Section& section, const ModelOptions& options) {
  const auto& capabilities = capabilities_of(options.family);
  if (capabilities.has_segments != (options.type_vocab_size > 0)) {
    section.report("type_vocab_size", str_cat(options.type_vocab_size, " is not supported by ",
                                              word_of(options.family), ", allowed is ",
                                              capabilities.has_segments ? "1 or more" : "0"));
  }
  if (options.embedding_size > 0 && !capabilities.has_embedding_projection) {
    section.report("embedding_size", str_cat(options.embedding_size, " is not supported by ",
                                             word_of(options.family), ", allowed is 0"));
  }
}

void read_embedding_sizes(Section& section, ModelOptions& options, const ModelOptions* base) {
  section.read("type_vocab_size", options.type_vocab_size,
               {.help = "Number of token types (segment embeddings). 1: all tokens have the same "
                        "type. 0: the family has no token type embeddings (distilbert).",
                .range = config::between(0, 1024)});
  section.read("embedding_size", options.embedding_size,
               {.help = "Embedding size, if it differs from dim and is followed by a projection "
                        "(electra). 0: same as dim.",
                .unit = "features",
                .range = config::between(0, 65536)});
  reject_sizes(section, options);
  if (base != nullptr) {
    require_unchanged(section, "type_vocab_size", options.type_vocab_size, base->type_vocab_size);
    require_unchanged(section, "embedding_size", options.embedding_size, base->embedding_size);
  }
}

}  // namespace

void read_keys(Section& section,
               ModelOptions& options,
               const ModelOptions* base,
               const SharedModelKeys& keys) {
  const bool has_rate = section.has("dropout");  // the default of the others, too
  if (has_rate) {
    options.classifier_dropout.reset();
  }
  read_shared_model_keys(section, options, base, keys);
  read_embedding_sizes(section, options, base);
  read_early_exit(section, options);
  read_document(section, options, base);
  if (has_rate) {
    options.sequence_dropout = options.dropout;
    options.span_dropout = options.dropout;
  }
  if (capabilities_of(options.family).has_fixed_epsilon && options.norm_epsilon != 1e-12) {
    section.section("norm", {.help = ""})
        .report("epsilon", str_cat("must be 1e-12 for ", word_of(options.family)));
  }
}

}  // namespace weft::models::bert_family
