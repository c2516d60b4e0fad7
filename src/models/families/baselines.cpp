#include "models/families/baselines.h"

#include <algorithm>

#include "base/text.h"
#include "models/bag_of_words.h"
#include "models/config/stack_json.h"
#include "models/config/stack_keys.h"
#include "models/decomposable_attention.h"
#include "models/weights/stored_builder.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

constexpr std::string_view kOnlyBag = "type: bag_of_words";
constexpr std::string_view kOnlyPairs = "type: decomposable_attention";
constexpr int64_t kMostWidth = 65536;
constexpr int64_t kMostBuckets = int64_t{1} << 26;
constexpr int64_t kMostDistance = 1024;

const config::Choices<Weighting>& weightings() {
  static const config::Choices<Weighting> kWords = {
      {"count", Weighting::kCount}, {"binary", Weighting::kBinary}, {"tfidf", Weighting::kTfidf}};
  return kWords;
}

std::string baselines_word_of(Weighting weighting) {
  for (const auto& [word, value] : weightings()) {
    if (value == weighting) {
      return std::string(word);
    }
  }
  return "";
}

ModelOptions bag_defaults() {
  ModelOptions options;
  options.family = Family::kBagOfWords;
  options.layers = 1;
  options.heads = 1;
  options.dim = 1;
  options.width = 1;
  options.segments = 1;
  options.length = int64_t{1} << 20;  // nothing grows with it
  options.dropout = 0;
  options.attention_dropout = 0;
  return options;
}

ModelOptions decomposable_defaults() {
  ModelOptions options;
  options.family = Family::kDecomposableAttention;
  options.layers = 1;
  options.heads = 1;
  options.embedding_dim = 300;  // arXiv:1606.01933, section 5.2
  options.dim = 200;
  options.width = options.decomposable.hidden;
  options.segments = 2;
  options.length = 4096;  // bounds the memory of the attention between two texts
  options.dropout = 0.2;
  options.deviation = 0.1;  // root of 2 / 200: keeps the scale through rectified layers
  return options;
}

void read_buckets(Section& section, BagOptions& bag) {
  if (bag.ngrams == 1 && !section.is_describing()) {
    if (section.has("buckets")) {
      section.fail("buckets", "has no effect with ngrams: 1, allowed with ngrams: 2");
    }
    return;
  }
  section.read("buckets", bag.buckets,
               {.help = "Weights that pairs of neighbouring words share by their hash.",
                .range = config::between(1, static_cast<double>(kMostBuckets)),
                .only = "ngrams: 2"});
}

void read_bag_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& bag = options.bag;
  section.read_choice("weighting", bag.weighting, weightings(),
                      {.help = "What an occurrence of a word counts for: count (1), binary (1 the "
                               "first time in a text), tfidf (the rarer in the training data the "
                               "more; each text scaled to length 1).",
                       .only = kOnlyBag});
  section.read("ngrams", bag.ngrams,
               {.help = "2: pairs of neighbouring words count like words.",
                .unit = "words",
                .range = config::between(1, 2),
                .only = kOnlyBag});
  read_buckets(section, bag);
  if (base != nullptr) {
    keep_same(section, "weighting", bag.weighting == base->bag.weighting);
    keep_same(section, "ngrams", bag.ngrams == base->bag.ngrams);
    keep_same(section, "buckets", bag.buckets == base->bag.buckets);
  }
}

void read_widths(Section& section, ModelOptions& options) {
  section.read("dim", options.dim,
               {.help = "Width of the residual stream.",
                .unit = "features",
                .range = config::between(1, kMostWidth)});
  section.read("embedding_dim", options.embedding_dim,
               {.help = "Width of the embeddings, before they are projected to dim.",
                .unit = "features",
                .range = config::between(1, kMostWidth)});
  section.read("dropout", options.dropout,
               {.help = "Share of the features that are dropped in training.",
                .range = config::from_to_below(0, 1)});
  section.read("deviation", options.deviation,
               {.help = "Standard deviation of the normal that initialises matrices.",
                .range = {.min = 0, .max = 1, .excludes_min = true}});
}

void read_distance(Section& section, DecomposableOptions& own) {
  if (!own.intra_attention && !section.is_describing()) {
    if (section.has("distance")) {
      section.fail("distance", "has no effect here, allowed with intra_attention: true");
    }
    return;
  }
  section.read("distance", own.distance,
               {.help = "Words that are further apart than this share one bias.",
                .unit = "words",
                .range = config::between(1, kMostDistance),
                .only = "intra_attention: true"});
}

void read_decomposable_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.decomposable;
  read_widths(section, options);
  section.read("hidden", own.hidden,
               {.help = "Width of the networks that attend, compare and aggregate.",
                .unit = "features",
                .range = config::between(1, kMostWidth),
                .only = kOnlyPairs});
  section.read("intra_attention", own.intra_attention,
               {.help = "Whether each word sees the others of its own text first "
                        "(arXiv:1606.01933, section 3.4).",
                .only = kOnlyPairs});
  read_distance(section, own);
  if (base != nullptr) {
    keep_same(section, "dim", options.dim == base->dim);
    keep_same(section, "embedding_dim", options.embedding_dim == base->embedding_dim);
    keep_same(section, "hidden", own.hidden == base->decomposable.hidden);
    keep_same(section, "intra_attention",
              own.intra_attention == base->decomposable.intra_attention);
    keep_same(section, "distance", own.distance == base->decomposable.distance);
  }
}

/// What absent keys mean, and the words: their number and the ids of those that are left out.
void begin_json(const JsonFields& fields, ModelOptions& options, const ModelOptions& defaults) {
  options = begun(options, defaults);
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, a number of words is expected");
  }
  fields.read("pad_token_id", options.pad_id, -1, options.vocabulary - 1);
  fields.read("cls_token_id", options.begin_id, -1, options.vocabulary - 1);
  fields.read("sep_token_id", options.end_id, -1, options.vocabulary - 1);
}

void write_words(Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["pad_token_id"] = id_or_null(options.pad_id);
  json["cls_token_id"] = id_or_null(options.begin_id);
  json["sep_token_id"] = id_or_null(options.end_id);
}

void read_bag_json(const JsonFields& fields, ModelOptions& options) {
  begin_json(fields, options, bag_defaults());
  auto& bag = options.bag;
  auto word = baselines_word_of(bag.weighting);
  fields.read("weighting", word);
  const auto& words = weightings();
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const auto& choice) { return choice.first == word; });
  if (found == words.end()) {
    fields.fail("weighting", "found '" + word.substr(0, 80) + "', allowed is count, binary, tfidf");
  }
  bag.weighting = found->second;
  fields.read("ngrams", bag.ngrams, 1, 2);
  fields.read("buckets", bag.buckets, 1, kMostBuckets);
}

void write_bag_json(Json& json, const ModelOptions& options) {
  write_words(json, options);
  json["weighting"] = baselines_word_of(options.bag.weighting);
  json["ngrams"] = options.bag.ngrams;
  json["buckets"] = options.bag.buckets;
}

void read_decomposable_json(const JsonFields& fields, ModelOptions& options) {
  begin_json(fields, options, decomposable_defaults());
  auto& own = options.decomposable;
  fields.read_size("projected_size", options.dim, kMostWidth);
  fields.read_size("embedding_size", options.embedding_dim, kMostWidth);
  fields.read_size("hidden_size", own.hidden, kMostWidth);
  fields.read("intra_attention", own.intra_attention);
  fields.read("intra_distance", own.distance, 1, kMostDistance);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("initializer_range", options.deviation, 0.0, 100.0);
}

void write_decomposable_json(Json& json, const ModelOptions& options) {
  const auto& own = options.decomposable;
  write_words(json, options);
  json["projected_size"] = options.dim;
  json["embedding_size"] = options.embedding_dim;
  json["hidden_size"] = own.hidden;
  json["intra_attention"] = own.intra_attention;
  json["intra_distance"] = own.distance;
  json["dropout"] = options.dropout;
  json["initializer_range"] = options.deviation;
}

/// Under its own name.
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
  result.push_back(tensor("words", {rows, classes}, Part::kHead));
  result.push_back(tensor("bias", {classes}, Part::kHead));
  return result;
}

std::vector<StoredTensor> decomposable_tensors(const ModelOptions& options) {
  const auto& own = options.decomposable;
  const int64_t width = own.intra_attention ? 2 * options.dim : options.dim;
  StoredBuilder builder;
  const auto perceptron = [&](const std::string& name, int64_t inputs) {
    for (const auto* layer : {".first", ".second"}) {
      builder.linear(name + layer, name + layer, {.inputs = inputs, .outputs = own.hidden});
      inputs = own.hidden;
    }
  };
  builder.result.push_back(tensor("embedding", {options.vocabulary, options.embedding_dim}));
  builder.table("project", "project", {options.dim, options.embedding_dim});
  if (own.intra_attention) {
    perceptron("intra", options.dim);
    builder.result.push_back(tensor("intra_bias", {2 * own.distance + 1}));
  }
  perceptron("attend", width);
  perceptron("compare", 2 * width);
  perceptron("aggregate", 2 * own.hidden);
  builder.linear("output", "output",
                 {.inputs = own.hidden, .outputs = head_outputs(options), .part = Part::kHead});
  return std::move(builder.result);
}

/// A word that was never seen says nothing.
InitialValues bag_initial(const std::string& /*parameter*/, const ModelOptions& /*options*/) {
  return {.kind = InitialValues::Kind::kZero};
}

InitialValues decomposable_initial(const std::string& /*parameter*/, const ModelOptions& options) {
  return {.deviation = options.deviation};
}

}  // namespace

const FamilyDefinition& bag_of_words() {
  static const FamilyDefinition kDefinition{
      .word = "bag_of_words",
      .facts = {Family::kBagOfWords, NormPlace::kPost, "weft-bag-of-words", "", "WeftBagOfWords"},
      .heads = {{Head::kSequence, "ForSequenceClassification"}},
      .traits = {.has_pooler = false},
      .defaults = bag_defaults,
      .read_keys = read_bag_keys,
      .read_json = read_bag_json,
      .write_json = write_bag_json,
      .tensors = bag_tensors,
      .initial = bag_initial,
      .make = construct<BagOfWords>};
  return kDefinition;
}

const FamilyDefinition& decomposable_attention() {
  static const FamilyDefinition kDefinition{
      .word = "decomposable_attention",
      .facts = {Family::kDecomposableAttention, NormPlace::kPost, "weft-decomposable-attention", "",
                "WeftDecomposableAttention"},
      .heads = {{Head::kSequence, "ForSequenceClassification"}},
      .traits = {.has_pooler = false},
      .defaults = decomposable_defaults,
      .read_keys = read_decomposable_keys,
      .read_json = read_decomposable_json,
      .write_json = write_decomposable_json,
      .tensors = decomposable_tensors,
      .initial = decomposable_initial,
      .make = construct<DecomposableAttention>};
  return kDefinition;
}

bool is_baseline(Family family) {
  return family == Family::kBagOfWords || family == Family::kDecomposableAttention;
}

int64_t bag_rows(const ModelOptions& options) {
  return options.vocabulary + (options.bag.ngrams > 1 ? options.bag.buckets : 0);
}

std::vector<std::pair<std::string, std::string>> baseline_facts(const ModelOptions& options) {
  if (options.family == Family::kBagOfWords) {
    return {{"weighting", baselines_word_of(options.bag.weighting)},
            {"features", text("words", options.bag.ngrams > 1
                                           ? text(" and pairs of them in ",
                                                  with_commas(options.bag.buckets), " buckets")
                                           : "")}};
  }
  return {{"widths", text("embeddings ", options.embedding_dim, ", projected to ", options.dim,
                          ", networks ", options.decomposable.hidden)},
          {"intra-attention", options.decomposable.intra_attention ? "yes" : "no"}};
}

}  // namespace weft::models
