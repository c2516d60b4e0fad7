#include "models/families/bert.h"

#include "models/config/hf_config_fields.h"
#include "models/config/modernbert.h"
#include "models/encoder.h"
#include "models/families/bert_kind.h"

namespace weft::models {

namespace {

using formats::Json;
using kernels::Activation;

ModelOptions bert_defaults() { return {}; }

/// arXiv:1907.11692 and its published models.
ModelOptions defaults_like_roberta(Family family) {
  ModelOptions options;
  options.family = family;
  options.type_vocab_size = 1;
  options.norm_epsilon = 1e-5;
  options.pad_id = 1;
  return options;
}

ModelOptions roberta_defaults() { return defaults_like_roberta(Family::kRoberta); }
ModelOptions xlm_roberta_defaults() { return defaults_like_roberta(Family::kXlmRoberta); }

ModelOptions distilbert_defaults() {
  ModelOptions options;
  options.family = Family::kDistilBert;
  options.layers = 6;
  options.type_vocab_size = 0;
  return options;
}

ModelOptions electra_defaults() {
  ModelOptions options;
  options.family = Family::kElectra;
  return options;
}

/// Includes the small models of arXiv:1908.08962.
std::vector<Preset> bert_presets() {
  const auto begin = bert_defaults();
  return {{"bert-tiny", sized(begin, {2, 128, 2})},   {"bert-mini", sized(begin, {4, 256, 4})},
          {"bert-small", sized(begin, {4, 512, 8})},  {"bert-medium", sized(begin, {8, 512, 8})},
          {"bert-base", sized(begin, {12, 768, 12})}, {"bert-large", sized(begin, {24, 1024, 16})}};
}

std::vector<Preset> roberta_presets() {
  const auto begin = roberta_defaults();
  return {{"roberta-tiny", sized(begin, {2, 128, 2})},
          {"roberta-mini", sized(begin, {4, 256, 4})},
          {"roberta-small", sized(begin, {4, 512, 8})},
          {"roberta-base", sized(begin, {12, 768, 12})},
          {"roberta-large", sized(begin, {24, 1024, 16})},
          {"distilroberta-base", sized(begin, {6, 768, 12})}};  // arXiv:1910.01108
}

std::vector<Preset> xlm_roberta_presets() {
  const auto begin = xlm_roberta_defaults();
  return {{"xlm-roberta-base", sized(begin, {12, 768, 12})},
          {"xlm-roberta-large", sized(begin, {24, 1024, 16})}};
}

std::vector<Preset> distilbert_presets() { return {{"distilbert-base", distilbert_defaults()}}; }

/// Sizes of the published checkpoints. Generators have the embeddings of their discriminators and
/// are narrower.
std::vector<Preset> electra_presets() {
  const auto made = [](const StackSize& size, int64_t embedding) {
    auto options = sized(electra_defaults(), size);
    options.embedding_size = embedding;
    return options;
  };
  return {{"electra-small", made({12, 256, 4}, 128)},
          {"electra-base", made({12, 768, 12}, 0)},
          {"electra-large", made({24, 1024, 16}, 0)},
          {"electra-small-generator", made({12, 256, 4}, 128)},
          {"electra-base-generator", made({12, 256, 4}, 768)},
          {"electra-large-generator", made({24, 256, 4}, 1024)}};
}

std::vector<Preset> modernbert_presets() {
  auto large = sized(modernbert_defaults(), {28, 1024, 16});
  large.width = 2624;
  return {{"modernbert-base", modernbert_defaults()}, {"modernbert-large", std::move(large)}};
}

// Sets the values of absent config.json keys, then reads the keys.

void read_bert_json(const JsonFields& fields, ModelOptions& options) {
  options.vocabulary = 30522;
  bert_family::read_json(fields, options);
}

void read_roberta_json(const JsonFields& fields, ModelOptions& options) {
  options.vocabulary = options.family == Family::kRoberta ? 50265 : 30522;
  options.pad_id = 1;
  options.bos_id = 0;
  options.eos_id = 2;
  bert_family::read_json(fields, options);
}

constexpr bert_family::JsonKeys kDistilBertKeys = {.dim = "dim",
                                                   .layers = "n_layers",
                                                   .heads = "n_heads",
                                                   .width = "hidden_dim",
                                                   .activation = "activation",
                                                   .dropout = "dropout",
                                                   .attention_dropout = "attention_dropout"};

void read_distilbert_json(const JsonFields& fields, ModelOptions& options) {
  options.vocabulary = 30522;
  options.layers = 6;
  options.type_vocab_size = 0;
  bert_family::read_json(fields, options, kDistilBertKeys);
}

void read_electra_json(const JsonFields& fields, ModelOptions& options) {
  options.vocabulary = 30522;
  options.dim = 256;
  options.heads = 4;
  options.width = 1024;
  options.embedding_size = 128;
  bert_family::read_json(fields, options);
}

constexpr bert_family::JsonKeys kModernBertKeys = {.activation = "hidden_activation",
                                                   .dropout = "embedding_dropout",
                                                   .attention_dropout = "attention_dropout",
                                                   .epsilon = "norm_eps"};

void read_modernbert_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, modernbert_defaults());
  options.vocabulary = 50368;
  options.pad_id = 50283;
  options.bos_id = 50281;
  options.eos_id = 50282;
  bert_family::read_json(fields, options, kModernBertKeys);
}

void write_bert_json(Json& json, const ModelOptions& options) {
  bert_family::write_json(json, options);
}

void write_distilbert_json(Json& json, const ModelOptions& options) {
  bert_family::write_json(json, options, kDistilBertKeys);
}

void write_modernbert_json(Json& json, const ModelOptions& options) {
  bert_family::write_json(json, options, kModernBertKeys);
}

Initializer bert_initial(const std::string& parameter, const ModelOptions& options) {
  const bool is_position = parameter == "embeddings.position.weight";
  if (is_position && options.has_sinusoidal_positions) {
    return {.kind = Initializer::Kind::kSinusoids};
  }
  return {.init_std = options.init_std,
          .cutoff = options.init_cutoff,
          .zeroes_padding = parameter == "embeddings.word.weight" ||
                            (is_position && position_offset(options) > 0)};
}

Initializer modernbert_initializer(const std::string& parameter, const ModelOptions& options) {
  auto values = bert_initial(parameter, options);
  values.init_std = modernbert_init_std(options, parameter);
  return values;
}

FamilyDefinition bert_definition(const HfNames& hf_names, const FamilyCapabilities& capabilities) {
  return {.name = hf_names.model_type,
          .hf_names = hf_names,
          .heads = {{Head::kNone, "Model"},
                    {Head::kMaskedLm, "ForMaskedLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"},
                    {Head::kSpan, "ForQuestionAnswering"}},
          .capabilities = capabilities,
          .read_keys = bert_family::read_keys,
          .read_json = read_bert_json,
          .write_json = write_bert_json,
          .tensors = bert_family::tensors,
          .name_aliases = bert_family::name_aliases,
          .is_ignorable = bert_family::is_ignorable,
          .initializer = bert_initial,
          .make = construct<Encoder>,
          .uses_bert_head = true};
}

FamilyDefinition roberta_definition(const HfNames& hf_names) {
  auto made = bert_definition(hf_names, {.positions_start_after_pad_id = true,
                                         .classifier_activation = Activation::kTanh,
                                         .mlm_activation = Activation::kGelu});
  made.read_json = read_roberta_json;
  return made;
}

}  // namespace

const FamilyDefinition& bert() {
  static const FamilyDefinition kDefinition = [] {
    auto made = bert_definition({Family::kBert, NormPlacement::kPost, "bert", "bert", "Bert"},
                                {.classifier_uses_pooler = true});
    // transformers has pre-norm RoBERTa but no pre-norm BERT: a separate type prevents others from
    // loading it as post-norm BERT.
    made.other_hf_names = {Family::kBert, NormPlacement::kPre, "weft-bert-prelayernorm", "bert",
                           "WeftBertPreLayerNorm"};
    made.heads.insert(made.heads.begin() + 2, {{Head::kPretraining, "ForPreTraining"},
                                               {Head::kNextSentence, "ForNextSentencePrediction"}});
    made.defaults = bert_defaults;
    made.presets = bert_presets;
    return made;
  }();
  return kDefinition;
}

const FamilyDefinition& roberta() {
  static const FamilyDefinition kDefinition = [] {
    auto made = roberta_definition(
        {Family::kRoberta, NormPlacement::kPost, "roberta", "roberta", "Roberta"});
    made.other_hf_names = {Family::kRoberta, NormPlacement::kPre, "roberta-prelayernorm",
                           "roberta_prelayernorm", "RobertaPreLayerNorm"};
    made.defaults = roberta_defaults;
    made.presets = roberta_presets;
    made.style = formats::TokenizerTemplate::kRoberta;
    return made;
  }();
  return kDefinition;
}

const FamilyDefinition& xlm_roberta() {
  static const FamilyDefinition kDefinition = [] {
    auto made = roberta_definition(
        {Family::kXlmRoberta, NormPlacement::kPost, "xlm-roberta", "roberta", "XLMRoberta"});
    made.defaults = xlm_roberta_defaults;
    made.presets = xlm_roberta_presets;
    made.style = formats::TokenizerTemplate::kXlmRoberta;
    return made;
  }();
  return kDefinition;
}

const FamilyDefinition& distilbert() {
  static const FamilyDefinition kDefinition = [] {
    auto made = bert_definition(
        {Family::kDistilBert, NormPlacement::kPost, "distilbert", "distilbert", "DistilBert"},
        {.has_pooler = false,
         .has_segments = false,
         .has_separate_head_dropouts = true,
         .has_fixed_epsilon = true,
         .classifier_activation = Activation::kRelu,
         .has_classifier_input_dropout = false});
    made.defaults = distilbert_defaults;
    made.presets = distilbert_presets;
    made.read_json = read_distilbert_json;
    made.write_json = write_distilbert_json;
    made.style = formats::TokenizerTemplate::kBertNoSegments;
    return made;
  }();
  return kDefinition;
}

const FamilyDefinition& electra() {
  static const FamilyDefinition kDefinition = [] {
    auto made =
        bert_definition({Family::kElectra, NormPlacement::kPost, "electra", "electra", "Electra"},
                        {.has_pooler = false,
                         .has_embedding_projection = true,
                         .classifier_activation = Activation::kGelu,
                         .mlm_activation = Activation::kGelu});
    made.heads.push_back({Head::kReplacedToken, "ForPreTraining"});
    made.defaults = electra_defaults;
    made.presets = electra_presets;
    made.read_json = read_electra_json;
    return made;
  }();
  return kDefinition;
}

const FamilyDefinition& modernbert() {
  static const FamilyDefinition kDefinition = [] {
    auto made = bert_definition(
        {Family::kModernBert, NormPlacement::kPre, "modernbert", "model", "ModernBert"},
        {.has_pooler = false,
         .has_segments = false,
         .has_classifier_input_dropout = false,
         .has_prediction_head = true,
         .has_first_norm = false,
         .has_sublayer_dropout = false});
    made.defaults = modernbert_defaults;
    made.presets = modernbert_presets;
    made.read_json = read_modernbert_json;
    made.write_json = write_modernbert_json;
    made.initializer = modernbert_initializer;
    made.style = formats::TokenizerTemplate::kBertNoSegments;
    return made;
  }();
  return kDefinition;
}

}  // namespace weft::models
