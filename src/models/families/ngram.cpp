#include <algorithm>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/ngram/ngram_model.h"
#include "models/ngram/smoothing.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

constexpr int64_t kMostOrder = 7;
constexpr double kMostCount = 1e9;
constexpr std::size_t kMostClasses = 100'000;

const config::Choices<bool> kPriors = {{"data", false}, {"uniform", true}};

/// Rejects a key that the smoothing does not use.
void reject_other_smoothing(Section& section,
                            std::string_view key,
                            bool is_used,
                            std::string_view only) {
  if (!is_used) {
    section.reject_unused(key, str_cat("has no effect here, only with ", only));
  }
}

void read_discounts(Section& section, NgramOptions& ngram) {
  section.read("discount", ngram.discount,
               {.help = "Absolute discount. null: estimated for each order, n1 / (n1 + 2 n2).",
                .range = config::half_open(0, 1),
                .only_if = "smoothing: absolute or kneser_ney"});
  section.read("fallback_discounts", ngram.fallback_discounts,
               {.help = "Discounts D1, D2 and D3 of orders for which the data do not determine "
                        "them, such as [0.5, 1, 1.5]. Empty: an error.",
                .range = config::between(0, 3),
                .only_if = "smoothing: modified_kneser_ney"});
  const auto& fallback = ngram.fallback_discounts;
  if (!fallback.empty() && (fallback.size() != 3 || fallback[0] > 1 || fallback[1] > 2)) {
    section.report("fallback_discounts",
                   "must be three numbers, at most 1, 2 and 3, such as [0.5, 1, 1.5]");
  }
}

void read_prune(Section& section, NgramOptions& ngram) {
  const auto& prune = ngram.prune;
  section.read("prune", ngram.prune,
               {.help = "For each order from 1, n-grams with at most this count are left out; the "
                        "last number is also that of higher orders. [0, 0, 1]: trigrams and above "
                        "that occur once.",
                .unit = "occurrences",
                .range = config::between(0, kMostCount)});
  if (!std::ranges::is_sorted(prune) || (!prune.empty() && prune[0] != 0) ||
      std::cmp_greater(prune.size(), ngram.order)) {
    section.report("prune", str_cat("must be at most ", ngram.order,
                                    " numbers that do not decrease, the first 0"));
  }
}

void read_ngram_keys(Section& section, ModelOptions& options, const ModelOptions* /*base*/) {
  auto& ngram = options.ngram;
  section.read("order", ngram.order,
               {.help = "n: a token is predicted from the n - 1 tokens before it.",
                .unit = "tokens",
                .range = config::between(1, kMostOrder)});
  std::vector<std::string> names;
  std::vector<std::string> descriptions;
  for (const auto& method : smoothing_methods()) {
    names.emplace_back(method.name);
    descriptions.push_back(str_cat(method.name, " (", method.help, ")"));
  }
  const auto help =
      str_cat("How probabilities are estimated from counts: ", join(descriptions), ".");
  section.read_name("smoothing", ngram.smoothing, names, {.help = help});
  section.read("k", ngram.k,
               {.help = "What is added to every count.",
                .range = config::above(0),
                .only_if = "smoothing: add_k"});
  section.read_choice("class_prior", ngram.has_uniform_prior, kPriors,
                      {.help = "Probabilities of the classes in Bayes' rule. data: their "
                               "frequencies in the training data. uniform: all are equal.",
                       .only_if = "objective.type: classify"});
  section.read("temperature", ngram.temperature,
               {.help = "Divides the log likelihoods of the classes: above 1, predictions are less "
                        "certain.",
                .range = config::above(0),
                .only_if = "objective.type: classify"});
  read_discounts(section, ngram);
  read_prune(section, ngram);
  const auto& method = smoothing_method(ngram.smoothing);
  const bool has_one_discount = method.discount_keys == DiscountKeys::kOne;
  reject_other_smoothing(section, "k", method.adds_k, "smoothing: add_k");
  reject_other_smoothing(section, "discount", has_one_discount,
                         "smoothing: absolute or kneser_ney");
  reject_other_smoothing(section, "fallback_discounts",
                         method.discount_keys == DiscountKeys::kThree,
                         "smoothing: modified_kneser_ney");
  if (!ngram.prune.empty() && !method.may_prune) {
    section.report("prune", str_cat("cannot be combined with smoothing: ", ngram.smoothing,
                                    ", which does not back off"));
  }
}

/// Reads a list of numbers.
template <class Value>
void read_list(const JsonFields& fields,
               std::string_view key,
               std::vector<Value>& values,
               double most,
               std::size_t most_values = kMostOrder) {
  if (!fields.has(key)) {
    return;
  }
  const auto& list = fields.at(key);
  const auto is_allowed = [&](const Json& value) {
    return (std::is_integral_v<Value> ? value.is_number_integer() : value.is_number()) &&
           value >= 0 && value <= most;
  };
  if (!list.is_array() || list.size() > most_values || !std::ranges::all_of(list, is_allowed)) {
    fields.fail(key, str_cat("must be a list of at most ", most_values, " numbers from 0 to ",
                             shortest_repr(most)));
  }
  values = list.get<std::vector<Value>>();
}

void read_ngram_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, layerless_defaults());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of tokens");
  }
  auto& ngram = options.ngram;
  fields.read("order", ngram.order, 1, kMostOrder);
  ngram.smoothing = "";
  fields.read("smoothing", ngram.smoothing);
  const auto& methods = smoothing_methods();
  if (!ngram.smoothing.empty() &&
      std::ranges::find(methods, ngram.smoothing, &SmoothingMethod::name) == methods.end()) {
    fields.fail("smoothing", str_cat("found ", quoted_text(ngram.smoothing),
                                     ", which is not a smoothing method"));
  }
  fields.read("k", ngram.k, 0.0, kMostCount);
  fields.read("discount", ngram.discount, 0.0, 1.0);
  read_list(fields, "fallback_discounts", ngram.fallback_discounts, 3);
  read_list(fields, "prune", ngram.prune, kMostCount);
  read_list(fields, "ngram_counts", ngram.sizes, (int64_t{1} << 31) - 1, kMostClasses);
  fields.read("uniform_prior", ngram.has_uniform_prior);
  fields.read("temperature", ngram.temperature, 0.0, kMostCount);
  read_ids(fields, options);
}

void write_ngram_json(Json& json, const ModelOptions& options) {
  const auto& ngram = options.ngram;
  json["vocab_size"] = options.vocabulary;
  json["order"] = ngram.order;
  json["smoothing"] = ngram.smoothing.empty() ? Json(nullptr) : Json(ngram.smoothing);
  json["k"] = ngram.k;
  json["discount"] = ngram.discount ? Json(*ngram.discount) : Json(nullptr);
  json["fallback_discounts"] = ngram.fallback_discounts;
  json["prune"] = ngram.prune;
  json["ngram_counts"] = ngram.sizes;
  if (options.head == Head::kSequence) {
    json["uniform_prior"] = ngram.has_uniform_prior;
    json["temperature"] = ngram.temperature;
  }
  write_ids(json, options);
}

std::vector<StoredTensor> ngram_tensors(const ModelOptions& options) {
  std::vector<StoredTensor> tensors;
  for (const auto& buffer : ngram_buffers(options)) {
    tensors.push_back(
        {.parameter = buffer.name,
         .name = buffer.name,
         .shape = {buffer.size},
         .dtype = buffer.type == at::kInt ? formats::DType::kI32 : formats::DType::kF32});
  }
  if (options.head == Head::kSequence) {
    tensors.push_back({.parameter = kNgramLogPrior,
                       .name = kNgramLogPrior,
                       .shape = {head_outputs(options)},
                       .dtype = formats::DType::kF32});
  }
  return tensors;
}

std::shared_ptr<Model> make_ngram(const ModelOptions& options) {
  return options.head == Head::kSequence ? construct<NgramClassifier>(options)
                                         : construct<NgramModel>(options);
}

std::vector<std::pair<std::string, std::string>> describe_ngram(const ModelOptions& options) {
  const auto& ngram = options.ngram;
  std::vector<std::string> sizes = {str_cat("1: ", with_commas(options.vocabulary))};
  const auto higher_orders = static_cast<std::size_t>(ngram.order) - 1;
  for (std::size_t order = 0; order < higher_orders; ++order) {
    int64_t sum = 0;  // over the classes
    for (auto i = order; i < ngram.sizes.size(); i += higher_orders) {
      sum += ngram.sizes[i];
    }
    sizes.push_back(str_cat(order + 2, ": ", with_commas(sum)));
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"order", str_cat(ngram.order)},
      {"smoothing", ngram.smoothing.empty() ? "that of an ARPA file" : ngram.smoothing}};
  if (!ngram.sizes.empty() || ngram.order == 1) {
    lines.emplace_back("n-grams by order", join(sizes, "; "));
  }
  return lines;
}

}  // namespace

FamilyDefinition ngram() {
  return {
      .name = "ngram",
      .hf_names = {{NormPlacement::kPost, "weft-ngram", "", "WeftNgram"}},
      .heads = {{Head::kCausalLm, "ForCausalLM"}, {Head::kSequence, "ForSequenceClassification"}},
      .capabilities = {.has_pooler = false, .has_matrix_products = false, .is_counted = true},
      .defaults = layerless_defaults,
      .read_keys = read_ngram_keys,
      .read_json = read_ngram_json,
      .write_json = write_ngram_json,
      .generation_json = plain_generation_json,
      .tensors = ngram_tensors,
      .make = make_ngram,
      .style = formats::TokenizerTemplate::kBosEos,
      .describe = describe_ngram};
}

}  // namespace weft::models
