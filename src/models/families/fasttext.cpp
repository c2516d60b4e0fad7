#include "models/baselines/fasttext.h"

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

constexpr int64_t kMostEmbedding = 65536;

ModelOptions fasttext_defaults() {
  auto options = layerless_defaults();
  options.dim = 100;  // as fastText
  return options;
}

void read_fasttext_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  section.read("dim", options.dim,
               {.help = "Size of the embeddings of words and n-grams.",
                .unit = "features",
                .range = config::between(1, static_cast<double>(kMostEmbedding))});
  auto output = section.section("output", {.help = "The output layer."});
  read_output_type(output, options.layer_types);
  if (options.layer_types.output && has_output_matrix(options.layer_types)) {
    output.report("type", "is for language models, must be a type that is not sampled");
  }
  if (base != nullptr) {
    require_unchanged(section, "dim", options.dim, base->dim);
    require_unchanged(section, "output", options.layer_types == base->layer_types);
  }
}

void read_fasttext_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, fasttext_defaults());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of words and n-grams");
  }
  fields.read_size("embedding_size", options.dim, kMostEmbedding);
}

void write_fasttext_json(formats::Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["embedding_size"] = options.dim;
}

std::vector<StoredTensor> fasttext_tensors(const ModelOptions& options) {
  std::vector<StoredTensor> result = {{.parameter = "words",
                                       .name = "words",
                                       .shape = {options.vocabulary, options.dim},
                                       .part = Part::kBackbone}};
  if (has_output_matrix(options.layer_types)) {
    result.push_back({.parameter = "output",
                      .name = "output",
                      .shape = {head_outputs(options), options.dim},
                      .part = Part::kHead});
  }
  return result;
}

/// As fastText.
Initializer fasttext_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter != "words") {
    return {.kind = Initializer::Kind::kZero};
  }
  return {.kind = Initializer::Kind::kUniform, .bound = 1 / static_cast<double>(options.dim)};
}

std::vector<std::pair<std::string, std::string>> describe_fasttext(const ModelOptions& options) {
  return {{"embeddings",
           str_cat(with_commas(options.vocabulary), " words and n-grams x ", options.dim)}};
}

}  // namespace

FamilyDefinition fasttext() {
  return {.name = "fasttext",
          .hf_names = {{NormPlacement::kPost, "weft-fasttext", "", "WeftFastText"}},
          .heads = {{Head::kSequence, "ForSequenceClassification"}},
          .capabilities = {.has_pooler = false,
                           .has_matrix_products = false,
                           .default_lr = 0.04,
                           .has_class_output = true},
          .defaults = fasttext_defaults,
          .read_keys = read_fasttext_keys,
          .read_json = read_fasttext_json,
          .write_json = write_fasttext_json,
          .tensors = fasttext_tensors,
          .initializer = fasttext_initial,
          .make = construct<FastText>,
          .style = formats::TokenizerTemplate::kFastText,
          .describe = describe_fasttext,
          .is_baseline = true};
}

}  // namespace weft::models
