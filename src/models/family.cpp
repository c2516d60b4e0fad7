#include "models/family.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/baseline_config.h"
#include "models/family_definition.h"

namespace weft::models {

namespace {

// transformers has pre-norm RoBERTa but no pre-norm BERT: that one gets a type of our own, so that
// nobody opens it as another.
constexpr std::array kFamilies = {
    FamilyFacts{Family::kBert, NormPlace::kPost, "bert", "bert", "Bert"},
    FamilyFacts{Family::kBert, NormPlace::kPre, "weft-bert-prelayernorm", "bert",
                "WeftBertPreLayerNorm"},
    FamilyFacts{Family::kRoberta, NormPlace::kPost, "roberta", "roberta", "Roberta"},
    FamilyFacts{Family::kRoberta, NormPlace::kPre, "roberta-prelayernorm", "roberta_prelayernorm",
                "RobertaPreLayerNorm"},
    FamilyFacts{Family::kXlmRoberta, NormPlace::kPost, "xlm-roberta", "roberta", "XLMRoberta"},
    FamilyFacts{Family::kDistilBert, NormPlace::kPost, "distilbert", "distilbert", "DistilBert"},
    FamilyFacts{Family::kElectra, NormPlace::kPost, "electra", "electra", "Electra"},
    FamilyFacts{Family::kModernBert, NormPlace::kPre, "modernbert", "model", "ModernBert"},
    FamilyFacts{Family::kBagOfWords, NormPlace::kPost, "weft-bag-of-words", "bag_of_words",
                "WeftBagOfWords"},
    FamilyFacts{Family::kDecomposableAttention, NormPlace::kPost, "weft-decomposable-attention",
                "decomposable_attention", "WeftDecomposableAttention"},
};

constexpr std::array kHeads = {
    HeadFacts{Head::kNone, "Model"},
    HeadFacts{Head::kMaskedLm, "ForMaskedLM"},
    HeadFacts{Head::kPretraining, "ForPreTraining"},
    HeadFacts{Head::kNextSentence, "ForNextSentencePrediction"},
    HeadFacts{Head::kSequence, "ForSequenceClassification"},
    HeadFacts{Head::kToken, "ForTokenClassification"},
    HeadFacts{Head::kSpan, "ForQuestionAnswering"},
    HeadFacts{Head::kReplacedToken, "ForPreTraining"},
};

/// Those above, then those with definitions.
const std::vector<FamilyFacts>& every_family() {
  static const std::vector<FamilyFacts> kAll = [] {
    std::vector<FamilyFacts> all(kFamilies.begin(), kFamilies.end());
    for (const auto* definition : family_table()) {
      all.push_back(definition->facts);
    }
    return all;
  }();
  return kAll;
}

}  // namespace

const FamilyFacts& facts_of(const ModelOptions& options) {
  for (const auto& facts : every_family()) {
    if (facts.family == options.family && facts.norm_place == options.norm_place) {
      return facts;
    }
  }
  throw std::logic_error("a family without facts");
}

std::span<const FamilyFacts> all_facts() { return every_family(); }

const FamilyFacts* find_model_type(std::string_view model_type) {
  const auto& all = every_family();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const auto& facts) { return facts.model_type == model_type; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> result;
  for (const auto& facts : every_family()) {
    result.emplace_back(facts.model_type);
  }
  return result;
}

bool has_norm_place(Family family, NormPlace place) {
  const auto& all = every_family();
  return std::any_of(all.begin(), all.end(), [&](const auto& facts) {
    return facts.family == family && facts.norm_place == place;
  });
}

std::string architecture_of(const ModelOptions& options) {
  for (const auto& facts : heads_of(options.family)) {
    if (facts.head == options.head) {
      return std::string(facts_of(options).classes) + std::string(facts.ending);
    }
  }
  throw std::logic_error("a head without a name");
}

bool has_head(Family family, Head head) {
  if (const auto* definition = find_definition(family)) {
    return std::any_of(definition->heads.begin(), definition->heads.end(),
                       [&](const auto& facts) { return facts.head == head; });
  }
  if (is_baseline(family)) {
    return head == Head::kSequence;
  }
  if (head == Head::kReplacedToken) {
    return family == Family::kElectra;
  }
  if (head == Head::kCausalLm || head == Head::kConditional || head == Head::kImage ||
      head == Head::kTaughtImage || head == Head::kMaskedImage) {
    return false;
  }
  const bool reads_pairs = head == Head::kPretraining || head == Head::kNextSentence;
  return family == Family::kBert || !reads_pairs;
}

std::vector<HeadFacts> heads_of(Family family) {
  if (const auto* definition = find_definition(family)) {
    return definition->heads;
  }
  std::vector<HeadFacts> result;
  std::copy_if(kHeads.begin(), kHeads.end(), std::back_inserter(result),
               [&](const auto& facts) { return has_head(family, facts.head); });
  return result;
}

bool is_known_to_transformers(const ModelOptions& options) {
  return !facts_of(options).model_type.starts_with("weft-");
}

const config::Choices<Family>& families() {
  static const config::Choices<Family> kWords = [] {
    config::Choices<Family> words = {{"bert", Family::kBert},
                                     {"roberta", Family::kRoberta},
                                     {"xlm-roberta", Family::kXlmRoberta},
                                     {"distilbert", Family::kDistilBert},
                                     {"electra", Family::kElectra},
                                     {"modernbert", Family::kModernBert},
                                     {"bag_of_words", Family::kBagOfWords},
                                     {"decomposable_attention", Family::kDecomposableAttention}};
    for (const auto* definition : family_table()) {
      words.emplace_back(definition->word, definition->facts.family);
    }
    return words;
  }();
  return kWords;
}

std::string_view word_of(Family family) {
  for (const auto& [word, value] : families()) {
    if (value == family) {
      return word;
    }
  }
  throw std::logic_error("a family without a word");
}

const config::Choices<kernels::Activation>& activations() {
  static const config::Choices<kernels::Activation> kWords = {
      {"gelu", kernels::Activation::kGelu}, {"gelu_tanh", kernels::Activation::kGeluTanh},
      {"relu", kernels::Activation::kRelu}, {"silu", kernels::Activation::kSilu},
      {"tanh", kernels::Activation::kTanh},
  };
  return kWords;
}

const std::vector<std::pair<std::string_view, kernels::Activation>>& stored_activations() {
  // The first name of each is the one that is written.
  static const std::vector<std::pair<std::string_view, kernels::Activation>> kNames = {
      {"gelu", kernels::Activation::kGelu},
      {"gelu_python", kernels::Activation::kGelu},
      {"gelu_new", kernels::Activation::kGeluTanh},
      {"gelu_pytorch_tanh", kernels::Activation::kGeluTanh},
      {"gelu_fast", kernels::Activation::kGeluTanh},
      {"relu", kernels::Activation::kRelu},
      {"silu", kernels::Activation::kSilu},
      {"swish", kernels::Activation::kSilu},
      {"tanh", kernels::Activation::kTanh},
  };
  return kNames;
}

std::string_view stored_activation(kernels::Activation activation) {
  for (const auto& [name, value] : stored_activations()) {
    if (value == activation) {
      return name;
    }
  }
  throw std::logic_error("an activation without a name");
}

}  // namespace weft::models
