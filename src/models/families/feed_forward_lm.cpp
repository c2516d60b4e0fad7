#include "models/baselines/feed_forward_lm.h"

#include <utility>

#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

constexpr int64_t kMostContext = 1024;

const config::Choices<FeedForwardLmKind> kKinds = {{"tanh", FeedForwardLmKind::kTanh},
                                                   {"bilinear", FeedForwardLmKind::kBilinear}};
const config::Choices<EmbeddingTie> kTies = {{"none", EmbeddingTie::kNone},
                                             {"init", EmbeddingTie::kInit},
                                             {"always", EmbeddingTie::kAlways}};

ModelOptions feed_forward_defaults() {
  auto options = layerless_defaults();
  options.dim = 60;  // as in the paper, section 4.2
  options.tie_word_embeddings = false;
  options.init_std = 0.1;
  return options;
}

void check_feed_forward_ties(const Section& section, const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  const auto& types = options.layer_types;
  const bool shares = shares_embedding(types, options.tie_word_embeddings);
  const auto* const key = own.kind == FeedForwardLmKind::kBilinear ? "kind" : "tie_embeddings";
  if (own.tie != EmbeddingTie::kNone && !shares && !has_output_matrix(types)) {
    section.report("tie_embeddings",
                   str_cat("must be none with output.type: ", types.output->type));
  } else if (own.tie != EmbeddingTie::kNone && !shares && types.embedding) {
    section.report(key, str_cat("the output matrix cannot be the word embeddings with "
                                "embedding.type: ",
                                types.embedding->type, ", which has no table of words"));
  } else if (const auto error = tie_error(types, options.tie_word_embeddings); !error.empty()) {
    section.report(key, error);
  }
}

void check_feed_forward_keys(const Section& section, const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  if (own.hidden == 0 && !own.direct) {
    section.report("hidden", "0 together with direct: false: the model would read nothing");
  }
  if (own.tie != EmbeddingTie::kNone && (own.hidden != options.dim || own.direct)) {
    section.report("tie_embeddings", str_cat(choice_word(kTies, own.tie), " needs hidden: ",
                                             options.dim, ", the same as dim, and direct: false"));
  }
  check_feed_forward_ties(section, options);
}

void read_feed_forward_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.feed_forward_lm;
  section.read("context", own.context,
               {.help = "Number of tokens from which the next one is predicted.",
                .unit = "tokens",
                .range = config::between(1, kMostContext)});
  section.read("dim", options.dim,
               {.help = "Size of the word embeddings.",
                .unit = "features",
                .range = config::between(1, 65536)});
  section.read_choice(
      "kind", own.kind, kKinds,
      {.help = "tanh: a hidden layer (Bengio et al. 2003). bilinear: log-bilinear, "
               "a linear prediction of the next embedding (Mnih and Hinton 2007)."});
  const bool is_bilinear = own.kind == FeedForwardLmKind::kBilinear;
  if (is_bilinear && !section.is_documenting()) {
    for (const auto* key : {"hidden", "direct", "tie_embeddings"}) {
      if (section.has(key)) {
        section.report(key, "has no effect with kind: bilinear, only with kind: tanh");
      }
    }
    own.hidden = options.dim;
    own.tie = EmbeddingTie::kAlways;
  } else {
    section.read("hidden", own.hidden,
                 {.help = "Size of the hidden layer. 0: none.",
                  .unit = "features",
                  .range = config::between(0, 65536),
                  .only_if = "kind: tanh"});
    section.read(
        "direct", own.direct,
        {.help = "Direct connections from the embeddings to the output.", .only_if = "kind: tanh"});
    section.read_choice("tie_embeddings", own.tie, kTies,
                        {.help = "always: the word embeddings are the output matrix. init: both "
                                 "start with the same values.",
                         .only_if = "kind: tanh"});
  }
  section.read(
      "dropout", options.dropout,
      {.help = "Dropout probability of hidden features.", .range = config::half_open(0, 1)});
  section.read(
      "init_std", options.init_std,
      {.help = "Standard deviation of the normal distribution that initialises weight matrices.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  options.tie_word_embeddings = own.tie == EmbeddingTie::kAlways;
  read_embedding_type(section, options, base);
  read_output_type(section.section("output", {.help = "The output layer of language models."}),
                   options.layer_types);
  if (base != nullptr) {
    require_unchanged(section, "context", own.context, base->feed_forward_lm.context);
    require_unchanged(section, "dim", options.dim, base->dim);
    require_unchanged(section, "kind", own == base->feed_forward_lm);
    require_unchanged(section, "output", options.layer_types == base->layer_types);
  }
  if (!section.is_documenting()) {
    check_feed_forward_keys(section, options);
  }
}

void read_feed_forward_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, feed_forward_defaults());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of tokens");
  }
  auto& own = options.feed_forward_lm;
  fields.read_size("embedding_size", options.dim, kMostFeatures);
  fields.read("context_size", own.context, 1, kMostContext);
  fields.read("hidden_size", own.hidden, 0, kMostFeatures);
  fields.read("direct", own.direct);
  read_choice_word(fields, "kind", kKinds, own.kind);
  read_choice_word(fields, "tie_embeddings", kTies, own.tie);
  options.tie_word_embeddings = own.tie == EmbeddingTie::kAlways;
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  if (own.hidden == 0 && !own.direct) {
    fields.fail("hidden_size", "found 0 without direct connections, must be at least 1");
  }
  if (own.tie == EmbeddingTie::kAlways && feed_forward_lm_features(options) != options.dim) {
    fields.fail("tie_embeddings", str_cat("found always, which needs hidden_size ", options.dim));
  }
  read_ids(fields, options);
}

void write_feed_forward_json(Json& json, const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  json["vocab_size"] = options.vocabulary;
  json["embedding_size"] = options.dim;
  json["context_size"] = own.context;
  json["hidden_size"] = own.hidden;
  json["direct"] = own.direct;
  json["kind"] = choice_word(kKinds, own.kind);
  json["tie_embeddings"] = choice_word(kTies, own.tie);
  json["dropout"] = options.dropout;
  json["initializer_range"] = options.init_std;
  write_ids(json, options);
}

std::vector<StoredTensor> feed_forward_tensors(const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  const auto tensor = [](const std::string& name, std::vector<int64_t> shape, Part part) {
    return StoredTensor{.parameter = name, .name = name, .shape = std::move(shape), .part = part};
  };
  WeightMapBuilder builder;
  builder.result.push_back(tensor("words", {options.vocabulary, options.dim}, Part::kBackbone));
  if (own.hidden > 0) {
    builder.linear("hidden", "hidden",
                   {.inputs = own.context * options.dim,
                    .outputs = own.hidden,
                    .has_bias = own.kind == FeedForwardLmKind::kTanh});
  }
  if (own.tie != EmbeddingTie::kAlways) {
    builder.result.push_back(
        tensor("output", {options.vocabulary, feed_forward_lm_features(options)}, Part::kHead));
  }
  builder.result.push_back(tensor("output_bias", {options.vocabulary}, Part::kHead));
  return std::move(builder.result);
}

Initializer feed_forward_initial(const std::string& parameter, const ModelOptions& options) {
  const bool is_copy = parameter == "output" && options.feed_forward_lm.tie == EmbeddingTie::kInit;
  return {.init_std = options.init_std, .same_as = is_copy ? "words" : ""};
}

std::vector<std::pair<std::string, std::string>> describe_feed_forward(
    const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  return {{"context", str_cat(own.context, " tokens")},
          {"kind", choice_word(kKinds, own.kind)},
          {"widths", str_cat("embeddings ", options.dim, ", hidden ", own.hidden,
                             own.direct ? ", direct connections" : "")}};
}

}  // namespace

FamilyDefinition feed_forward_lm() {
  return {.name = "feed_forward_lm",
          .hf_names = {{NormPlacement::kPost, "weft-feed-forward-lm", "", "WeftFeedForwardLm"}},
          .heads = {{Head::kCausalLm, "ForCausalLM"}},
          .capabilities = {.has_pooler = false, .default_lr = 2e-3},
          .defaults = feed_forward_defaults,
          .read_keys = read_feed_forward_keys,
          .read_json = read_feed_forward_json,
          .write_json = write_feed_forward_json,
          .generation_json = plain_generation_json,
          .tensors = feed_forward_tensors,
          .initializer = feed_forward_initial,
          .make = construct<FeedForwardLm>,
          .style = formats::TokenizerTemplate::kBosEos,
          .describe = describe_feed_forward};
}

}  // namespace weft::models
