#include "models/config/hf_config_fields.h"
#include "models/encoder.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using kernels::Activation;

ModelOptions bert_defaults() { return {}; }

/// arXiv:1907.11692 and its published models.
ModelOptions roberta_defaults() {
  ModelOptions options;
  options.type_vocab_size = 1;
  options.norm_epsilon = 1e-5;
  options.pad_id = 1;
  return options;
}

ModelOptions distilbert_defaults() {
  ModelOptions options;
  options.layers = 6;
  options.type_vocab_size = 0;
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
  const auto begin = roberta_defaults();
  return {{"xlm-roberta-base", sized(begin, {12, 768, 12})},
          {"xlm-roberta-large", sized(begin, {24, 1024, 16})}};
}

std::vector<Preset> distilbert_presets() { return {{"distilbert-base", distilbert_defaults()}}; }

/// Sizes of the published checkpoints. Generators have the embeddings of their discriminators and
/// are narrower.
std::vector<Preset> electra_presets() {
  const auto made = [](const StackSize& size, int64_t embedding) {
    auto options = sized(bert_defaults(), size);
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

// Values of absent config.json keys.

ModelOptions absent_bert() {
  ModelOptions options;
  options.vocabulary = 30522;
  return options;
}

ModelOptions absent_xlm_roberta() {
  auto options = absent_bert();
  options.pad_id = 1;
  options.bos_id = 0;
  options.eos_id = 2;
  return options;
}

ModelOptions absent_roberta() {
  auto options = absent_xlm_roberta();
  options.vocabulary = 50265;
  return options;
}

ModelOptions absent_distilbert() {
  auto options = distilbert_defaults();
  options.vocabulary = 30522;
  return options;
}

ModelOptions absent_electra() {
  auto options = absent_bert();
  options.dim = 256;
  options.heads = 4;
  options.width = 1024;
  options.embedding_size = 128;
  return options;
}

constexpr bert_family::JsonKeys kDistilBertKeys = {.dim = "dim",
                                                   .layers = "n_layers",
                                                   .heads = "n_heads",
                                                   .width = "hidden_dim",
                                                   .activation = "activation",
                                                   .dropout = "dropout",
                                                   .attention_dropout = "attention_dropout"};

constexpr bert_family::WeightNames kBertNames = {.bias_copy = "cls.predictions.decoder.bias",
                                                 .tied_copy = "cls.predictions.decoder."};

constexpr bert_family::WeightNames kDistilBertNames = {
    .segment = {},
    .layers = "transformer.layer.",
    .query_key_value = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
    .attention_output = "attention.out_lin",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .attention_norm = "sa_layer_norm",
    .feed_forward_norm = "output_layer_norm",
    .mlm_dense = "vocab_transform",
    .mlm_norm = "vocab_layer_norm",
    .mlm_decoder = "vocab_projector",
    .mlm_bias = "vocab_projector.bias",
    .tied_copy = "vocab_projector.weight",
    .sequence_dense = "pre_classifier"};

constexpr bert_family::WeightNames kElectraNames = {
    .projection = "embeddings_project",
    .mlm_dense = "generator_predictions.dense",
    .mlm_norm = "generator_predictions.LayerNorm",
    .mlm_decoder = "generator_lm_head",
    .mlm_bias = "generator_lm_head.bias",
    .tied_copy = "generator_lm_head.weight",
    .sequence_dense = "classifier.dense",
    .sequence = "classifier.out_proj",
    .replaced_dense = "discriminator_predictions.dense",
    .replaced = "discriminator_predictions.dense_prediction"};

FamilyDefinition roberta_definition(const HfNames& hf_names) {
  auto made = bert_family::definition(hf_names,
                                      {.positions_start_after_pad_id = true,
                                       .classifier_activation = Activation::kTanh,
                                       .mlm_activation = Activation::kGelu},
                                      bert_family::kRobertaNames);
  made.defaults = roberta_defaults;
  return made;
}

}  // namespace

namespace bert_family {

Initializer initializer(const std::string& parameter, const ModelOptions& options) {
  const bool is_position = parameter == "embeddings.position.weight";
  if (is_position && options.has_sinusoidal_positions) {
    return {.kind = Initializer::Kind::kSinusoids};
  }
  return {.init_std = options.init_std,
          .cutoff = options.init_cutoff,
          .zeroes_padding = parameter == "embeddings.word.weight" ||
                            (is_position && position_offset(options) > 0)};
}

FamilyDefinition definition(const HfNames& hf_names,
                            const FamilyCapabilities& capabilities,
                            const WeightNames& names) {
  FamilyDefinition made = {
      .name = hf_names.model_type,
      .hf_names = {hf_names},
      .heads = {{Head::kNone, "Model"},
                {Head::kMaskedLm, "ForMaskedLM"},
                {Head::kSequence, "ForSequenceClassification"},
                {Head::kToken, "ForTokenClassification"},
                {Head::kSpan, "ForQuestionAnswering"}},
      .capabilities = capabilities,
      .defaults = bert_defaults,
      .read_keys = [](auto& section, auto& options,
                      const auto* base) { read_keys(section, options, base); },
      .tensors = [names](const auto& options) { return tensors(options, names); },
      .name_aliases =
          [copy = names.bias_copy](const auto& tensor, const auto& /*options*/) {
            const bool has_copy =
                tensor.parameter == "head.bias" && tensor.duplicate_name.empty() && !copy.empty();
            return has_copy ? std::vector{std::string(copy)}
                            // for files with only the decoder's bias
                            : std::vector<std::string>{};
          },
      .is_ignorable =
          [copy = names.tied_copy](std::string_view name, const auto& options) {
            return name.ends_with("embeddings.position_ids") ||
                   name.ends_with("embeddings.token_type_ids") ||
                   (options.tie_word_embeddings && !copy.empty() && name.starts_with(copy));
          },
      .initializer = initializer,
      .make = construct<Encoder>};
  set_json(made, absent_bert);
  return made;
}

void set_json(FamilyDefinition& definition,
              const std::function<ModelOptions()>& absent,
              const JsonKeys& keys) {
  definition.read_json = [absent, keys](const auto& fields, auto& options) {
    options = apply_named(options, absent());
    read_json(fields, options, keys);
  };
  definition.write_json = [keys](auto& json, const auto& options) {
    write_json(json, options, keys);
  };
}

}  // namespace bert_family

FamilyDefinition bert() {
  auto made = bert_family::definition({NormPlacement::kPost, "bert", "bert", "Bert"},
                                      {.classifier_uses_pooler = true}, kBertNames);
  // transformers has pre-norm RoBERTa but no pre-norm BERT: a separate type prevents others from
  // loading it as post-norm BERT.
  made.hf_names.push_back(
      {NormPlacement::kPre, "weft-bert-prelayernorm", "bert", "WeftBertPreLayerNorm"});
  made.heads.insert(made.heads.begin() + 2, {{Head::kPretraining, "ForPreTraining"},
                                             {Head::kNextSentence, "ForNextSentencePrediction"}});
  made.presets = bert_presets;
  return made;
}

FamilyDefinition roberta() {
  auto made = roberta_definition({NormPlacement::kPost, "roberta", "roberta", "Roberta"});
  made.hf_names.push_back(
      {NormPlacement::kPre, "roberta-prelayernorm", "roberta_prelayernorm", "RobertaPreLayerNorm"});
  made.presets = roberta_presets;
  bert_family::set_json(made, absent_roberta);
  made.style = formats::TokenizerTemplate::kRoberta;
  return made;
}

FamilyDefinition xlm_roberta() {
  auto made = roberta_definition({NormPlacement::kPost, "xlm-roberta", "roberta", "XLMRoberta"});
  made.presets = xlm_roberta_presets;
  bert_family::set_json(made, absent_xlm_roberta);
  made.style = formats::TokenizerTemplate::kXlmRoberta;
  return made;
}

FamilyDefinition distilbert() {
  auto made =
      bert_family::definition({NormPlacement::kPost, "distilbert", "distilbert", "DistilBert"},
                              {.has_pooler = false,
                               .has_segments = false,
                               .has_separate_head_dropouts = true,
                               .has_fixed_epsilon = true,
                               .classifier_activation = Activation::kRelu,
                               .has_classifier_input_dropout = false},
                              kDistilBertNames);
  made.defaults = distilbert_defaults;
  made.presets = distilbert_presets;
  bert_family::set_json(made, absent_distilbert, kDistilBertKeys);
  made.style = formats::TokenizerTemplate::kBertNoSegments;
  return made;
}

FamilyDefinition electra() {
  auto made = bert_family::definition({NormPlacement::kPost, "electra", "electra", "Electra"},
                                      {.has_pooler = false,
                                       .has_embedding_projection = true,
                                       .classifier_activation = Activation::kGelu,
                                       .mlm_activation = Activation::kGelu},
                                      kElectraNames);
  made.heads.push_back({Head::kReplacedToken, "ForPreTraining"});
  made.presets = electra_presets;
  bert_family::set_json(made, absent_electra);
  return made;
}

}  // namespace weft::models
