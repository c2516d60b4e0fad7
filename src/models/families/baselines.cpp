#include "base/string_util.h"
#include "models/baselines/bag_of_words.h"
#include "models/baselines/decomposable_attention.h"
#include "models/config/choice_json.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

constexpr int64_t kMostWidth = 65536;
constexpr int64_t kMostBuckets = int64_t{1} << 26;
constexpr int64_t kMostNgrams = 5;
constexpr double kMostAlpha = 1e9;
constexpr int64_t kMostDistance = 1024;

const config::Choices<Weighting>& weightings() {
  static const config::Choices<Weighting> kWords = {{"count", Weighting::kCount},
                                                    {"binary", Weighting::kBinary},
                                                    {"log", Weighting::kLog},
                                                    {"tfidf", Weighting::kTfidf},
                                                    {"naive_bayes", Weighting::kNaiveBayes}};
  return kWords;
}

ModelOptions bag_defaults() {
  auto options = layerless_defaults();
  options.type_vocab_size = 1;
  options.pad_id = 0;
  return options;
}

ModelOptions decomposable_defaults() {
  ModelOptions options;
  options.layers = 1;
  options.heads = 1;
  options.embedding_size = 300;  // arXiv:1606.01933, section 5.2
  options.dim = 200;
  options.width = options.decomposable.hidden;
  options.type_vocab_size = 2;
  options.length = 4096;  // bounds the memory of the attention between two texts
  options.dropout = 0.2;
  options.init_std = 0.1;  // sqrt(2 / 200): preserves the scale through ReLU layers
  return options;
}

void read_buckets(Section& section, BagOptions& bag) {
  if (bag.ngrams == 1 && !section.is_documenting()) {
    if (section.has("buckets")) {
      section.report("buckets", "has no effect with ngrams: 1, only with ngrams: 2 and more");
    }
    return;
  }
  section.read("buckets", bag.buckets,
               {.help = "Number of hash buckets for the weights of n-grams of two words and more.",
                .range = config::between(1, static_cast<double>(kMostBuckets)),
                .only_if = "ngrams: 2 and more"});
}

void read_alpha(Section& section, BagOptions& bag) {
  section.read("alpha", bag.alpha,
               {.help = "What is added to the number of texts with each word.",
                .unit = "texts",
                .range = config::above(0),
                .only_if = "weighting: naive_bayes"});
  if (bag.weighting != Weighting::kNaiveBayes) {
    section.reject_unused("alpha", "has no effect here, only with weighting: naive_bayes");
  }
}

void read_bag_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& bag = options.bag;
  section.read_choice("weighting", bag.weighting, weightings(),
                      {.help = "Term weighting. count: number of occurrences. binary: 1 if the "
                               "word occurs. log: logarithm of 1 + the number. tfidf: TF-IDF "
                               "(words that are rare in the training "
                               "data count more; each text is scaled to length 1). naive_bayes: if "
                               "the word occurs, for each class its log-count ratio, with the "
                               "class against the others (NB-SVM)."});
  section.read("ngrams", bag.ngrams,
               {.help = "Maximum n-gram size. 2: adds bigrams to the single words.",
                .unit = "words",
                .range = config::between(1, kMostNgrams)});
  read_buckets(section, bag);
  read_alpha(section, bag);
  if (base != nullptr) {
    require_unchanged(section, "weighting", bag.weighting == base->bag.weighting);
    require_unchanged(section, "ngrams", bag.ngrams == base->bag.ngrams);
    require_unchanged(section, "buckets", bag.buckets == base->bag.buckets);
    require_unchanged(section, "alpha", bag.alpha == base->bag.alpha);
  }
}

void read_widths(Section& section, ModelOptions& options) {
  section.read("dim", options.dim,
               {.help = "Hidden size of the model.",
                .unit = "features",
                .range = config::between(1, kMostWidth)});
  section.read("embedding_size", options.embedding_size,
               {.help = "Size of the word embeddings, before the projection to dim.",
                .unit = "features",
                .range = config::between(1, kMostWidth)});
  section.read(
      "dropout", options.dropout,
      {.help = "Dropout probability of hidden features.", .range = config::half_open(0, 1)});
  section.read(
      "init_std", options.init_std,
      {.help = "Standard deviation of the normal distribution that initialises weight matrices.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
}

void read_distance(Section& section, DecomposableOptions& own) {
  if (!own.intra_attention && !section.is_documenting()) {
    if (section.has("max_distance")) {
      section.report("max_distance", "has no effect here, only with intra_attention: true");
    }
    return;
  }
  section.read("max_distance", own.distance,
               {.help = "Maximum distance with its own bias; larger distances share one bias.",
                .unit = "words",
                .range = config::between(1, kMostDistance),
                .only_if = "intra_attention: true"});
}

void read_decomposable_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.decomposable;
  read_widths(section, options);
  section.read("hidden_dim", own.hidden,
               {.help = "Hidden size of the attend, compare and aggregate networks.",
                .unit = "features",
                .range = config::between(1, kMostWidth)});
  section.read("intra_attention", own.intra_attention,
               {.help = "Intra-sentence attention: each word first attends to the other words of "
                        "its own text (arXiv:1606.01933, section 3.4)."});
  read_distance(section, own);
  section.read("null_token", own.has_null_token,
               {.help = "A NULL token at the beginning of each text, to which words without a "
                        "counterpart can be aligned (arXiv:1606.01933, section 3)."});
  if (base != nullptr) {
    require_unchanged(section, "dim", options.dim == base->dim);
    require_unchanged(section, "embedding_size", options.embedding_size == base->embedding_size);
    require_unchanged(section, "hidden_dim", own.hidden == base->decomposable.hidden);
    require_unchanged(section, "intra_attention",
                      own.intra_attention == base->decomposable.intra_attention);
    require_unchanged(section, "max_distance", own.distance == base->decomposable.distance);
    require_unchanged(section, "null_token", own.has_null_token, base->decomposable.has_null_token);
  }
}

/// Sets the values of absent keys and reads the vocabulary size and the excluded ids.
void begin_json(const JsonFields& fields, ModelOptions& options, const ModelOptions& defaults) {
  options = apply_named(options, defaults);
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of words");
  }
  fields.read("pad_token_id", options.pad_id, -1, options.vocabulary - 1);
  fields.read("cls_token_id", options.bos_id, -1, options.vocabulary - 1);
  fields.read("sep_token_id", options.eos_id, -1, options.vocabulary - 1);
}

void write_words(Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["pad_token_id"] = id_or_null(options.pad_id);
  json["cls_token_id"] = id_or_null(options.bos_id);
  json["sep_token_id"] = id_or_null(options.eos_id);
}

void read_bag_json(const JsonFields& fields, ModelOptions& options) {
  begin_json(fields, options, bag_defaults());
  auto& bag = options.bag;
  read_choice_word(fields, "weighting", weightings(), bag.weighting);
  fields.read("ngrams", bag.ngrams, 1, kMostNgrams);
  fields.read("buckets", bag.buckets, 1, kMostBuckets);
  fields.read("alpha", bag.alpha, 0.0, kMostAlpha);
}

void write_bag_json(Json& json, const ModelOptions& options) {
  write_words(json, options);
  json["weighting"] = choice_word(weightings(), options.bag.weighting);
  json["ngrams"] = options.bag.ngrams;
  json["buckets"] = options.bag.buckets;
  if (options.bag.weighting == Weighting::kNaiveBayes) {
    json["alpha"] = options.bag.alpha;
  }
}

void read_decomposable_json(const JsonFields& fields, ModelOptions& options) {
  begin_json(fields, options, decomposable_defaults());
  auto& own = options.decomposable;
  fields.read_size("projected_size", options.dim, kMostWidth);
  fields.read_size("embedding_size", options.embedding_size, kMostWidth);
  fields.read_size("hidden_size", own.hidden, kMostWidth);
  fields.read("intra_attention", own.intra_attention);
  fields.read("intra_distance", own.distance, 1, kMostDistance);
  fields.read("null_token", own.has_null_token);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
}

void write_decomposable_json(Json& json, const ModelOptions& options) {
  const auto& own = options.decomposable;
  write_words(json, options);
  json["projected_size"] = options.dim;
  json["embedding_size"] = options.embedding_size;
  json["hidden_size"] = own.hidden;
  json["intra_attention"] = own.intra_attention;
  json["intra_distance"] = own.distance;
  json["null_token"] = own.has_null_token;
  json["dropout"] = options.dropout;
  json["initializer_range"] = options.init_std;
}

/// A tensor stored under its parameter's name.
StoredTensor tensor(const std::string& name,
                    std::vector<int64_t> shape,
                    Part part = Part::kBackbone) {
  return {.parameter = name, .name = name, .shape = std::move(shape), .part = part};
}

std::vector<StoredTensor> bag_tensors(const ModelOptions& options) {
  const auto rows = bag_rows(options);
  const auto classes = head_outputs(options);
  std::vector<StoredTensor> result;
  if (options.bag.weighting == Weighting::kTfidf) {
    result.push_back(tensor("idf", {rows}));
  }
  if (options.bag.weighting == Weighting::kNaiveBayes) {
    result.push_back(tensor("log_count_ratios", {rows, classes}, Part::kHead));
  }
  result.push_back(tensor("words", {rows, classes}, Part::kHead));
  result.push_back(tensor("bias", {classes}, Part::kHead));
  return result;
}

std::vector<StoredTensor> decomposable_tensors(const ModelOptions& options) {
  const auto& own = options.decomposable;
  const int64_t width = own.intra_attention ? 2 * options.dim : options.dim;
  WeightMapBuilder builder;
  const auto mlp = [&](const std::string& name, int64_t inputs) {
    for (const auto* layer : {".first", ".second"}) {
      builder.linear(name + layer, name + layer, {.inputs = inputs, .outputs = own.hidden});
      inputs = own.hidden;
    }
  };
  builder.result.push_back(tensor("embedding", {options.vocabulary, options.embedding_size}));
  builder.table("project", "project", {options.dim, options.embedding_size});
  if (own.intra_attention) {
    mlp("intra", options.dim);
    builder.result.push_back(tensor("intra_bias", {2 * own.distance + 1}));
  }
  mlp("attend", width);
  mlp("compare", 2 * width);
  mlp("aggregate", 2 * own.hidden);
  builder.linear("output", "output",
                 {.inputs = own.hidden, .outputs = head_outputs(options), .part = Part::kHead});
  return std::move(builder.result);
}

/// Zero: unseen words do not affect the logits.
Initializer bag_initial(const std::string& /*parameter*/, const ModelOptions& /*options*/) {
  return {.kind = Initializer::Kind::kZero};
}

Initializer decomposable_initial(const std::string& /*parameter*/, const ModelOptions& options) {
  return {.init_std = options.init_std};
}

std::vector<std::pair<std::string, std::string>> describe_bag(const ModelOptions& options) {
  return {{"weighting", choice_word(weightings(), options.bag.weighting)},
          {"features", str_cat("words", options.bag.ngrams > 1
                                            ? str_cat(" and n-grams of up to ", options.bag.ngrams,
                                                      " words in ",
                                                      with_commas(options.bag.buckets), " buckets")
                                            : "")}};
}

std::vector<std::pair<std::string, std::string>> describe_decomposable(
    const ModelOptions& options) {
  return {{"widths", str_cat("embeddings ", options.embedding_size, ", projected to ", options.dim,
                             ", networks ", options.decomposable.hidden)},
          {"intra-attention", options.decomposable.intra_attention ? "yes" : "no"}};
}

}  // namespace

FamilyDefinition bag_of_words() {
  return {.name = "bag_of_words",
          .hf_names = {{NormPlacement::kPost, "weft-bag-of-words", "", "WeftBagOfWords"}},
          .heads = {{Head::kSequence, "ForSequenceClassification"}},
          .capabilities = {.has_pooler = false, .has_matrix_products = false, .default_lr = 0.03},
          .defaults = bag_defaults,
          .read_keys = read_bag_keys,
          .read_json = read_bag_json,
          .write_json = write_bag_json,
          .tensors = bag_tensors,
          .initializer = bag_initial,
          .make = construct<BagOfWords>,
          .describe = describe_bag,
          .is_baseline = true};
}

FamilyDefinition decomposable_attention() {
  return {.name = "decomposable_attention",
          .hf_names = {{NormPlacement::kPost, "weft-decomposable-attention", "",
                        "WeftDecomposableAttention"}},
          .heads = {{Head::kSequence, "ForSequenceClassification"}},
          .capabilities = {.has_pooler = false, .requires_text_pairs = true},
          .defaults = decomposable_defaults,
          .read_keys = read_decomposable_keys,
          .read_json = read_decomposable_json,
          .write_json = write_decomposable_json,
          .tensors = decomposable_tensors,
          .initializer = decomposable_initial,
          .make = construct<DecomposableAttention>,
          .describe = describe_decomposable,
          .is_baseline = true};
}

}  // namespace weft::models
