#include "models/families/bert_rows.h"

#include <array>
#include <stdexcept>

namespace weft::models {

namespace {

using Kind = WeightKind;
using Row = WeightName;

constexpr std::array kBertEmbeddings = {
    Row{"embeddings.word", "embeddings.word_embeddings", Kind::kTable, 'V', 'E'},
    Row{"embeddings.position", "embeddings.position_embeddings", Kind::kTable, 'P', 'E'},
    Row{"embeddings.segment", "embeddings.token_type_embeddings", Kind::kTable, 'T', 'E'},
    Row{"embeddings.norm", "embeddings.LayerNorm", Kind::kNorm, 'E'},
};
constexpr std::array kPostNormLayer = {
    Row{"attention.qkv", "attention.self.query", Kind::kLinear, 'D', 'D', 0},
    Row{"attention.qkv", "attention.self.key", Kind::kLinear, 'D', 'D', 1},
    Row{"attention.qkv", "attention.self.value", Kind::kLinear, 'D', 'D', 2},
    Row{"attention.output", "attention.output.dense", Kind::kLinear, 'D'},
    Row{"attention_norm", "attention.output.LayerNorm", Kind::kNorm, 'D'},
    Row{"feed_forward.up", "intermediate.dense", Kind::kLinear, 'F'},
    Row{"feed_forward.down", "output.dense", Kind::kLinear, 'D', 'F'},
    Row{"feed_forward_norm", "output.LayerNorm", Kind::kNorm, 'D'},
};
constexpr std::array kPreNormLayer = {
    Row{"attention_norm", "attention.LayerNorm", Kind::kNorm, 'D'},
    Row{"attention.qkv", "attention.self.query", Kind::kLinear, 'D', 'D', 0},
    Row{"attention.qkv", "attention.self.key", Kind::kLinear, 'D', 'D', 1},
    Row{"attention.qkv", "attention.self.value", Kind::kLinear, 'D', 'D', 2},
    Row{"attention.output", "attention.output.dense", Kind::kLinear, 'D'},
    Row{"feed_forward_norm", "intermediate.LayerNorm", Kind::kNorm, 'D'},
    Row{"feed_forward.up", "intermediate.dense", Kind::kLinear, 'F'},
    Row{"feed_forward.down", "output.dense", Kind::kLinear, 'D', 'F'},
};
constexpr std::array kFinalNorm = {Row{"layers.norm", "LayerNorm", Kind::kNorm, 'D'}};
constexpr std::array kPooler = {Row{"pooler.dense", "pooler.dense", Kind::kLinear, 'D'}};
constexpr std::array kClassifier = {Row{"head.output", "classifier", Kind::kLinear, 'C'}};
constexpr std::array kSpan = {Row{"head.output", "qa_outputs", Kind::kLinear, 'C'}};

constexpr std::array kBertMlm = {
    Row{"head.dense", "cls.predictions.transform.dense", Kind::kLinear, 'E'},
    Row{"head.norm", "cls.predictions.transform.LayerNorm", Kind::kNorm, 'E'},
    Row{"head.decoder", "cls.predictions.decoder", Kind::kTable, 'V', 'E'},
    Row{"head.bias", "cls.predictions.bias", Kind::kVector, 'V'},
};
constexpr std::array kBertNsp = {Row{"next_sentence", "cls.seq_relationship", Kind::kLinear, '2'}};

constexpr std::array kRobertaMlm = {
    Row{"head.dense", "lm_head.dense", Kind::kLinear, 'E'},
    Row{"head.norm", "lm_head.layer_norm", Kind::kNorm, 'E'},
    Row{"head.decoder", "lm_head.decoder", Kind::kTable, 'V', 'E'},
    Row{"head.bias", "lm_head.bias", Kind::kVector, 'V'},
};
constexpr std::array kRobertaClassifier = {
    Row{"head.dense", "classifier.dense", Kind::kLinear, 'D'},
    Row{"head.output", "classifier.out_proj", Kind::kLinear, 'C'},
};

constexpr std::array kDistilBertEmbeddings = {
    Row{"embeddings.word", "embeddings.word_embeddings", Kind::kTable, 'V', 'E'},
    Row{"embeddings.position", "embeddings.position_embeddings", Kind::kTable, 'P', 'E'},
    Row{"embeddings.norm", "embeddings.LayerNorm", Kind::kNorm, 'E'},
};
constexpr std::array kDistilBertLayer = {
    Row{"attention.qkv", "attention.q_lin", Kind::kLinear, 'D', 'D', 0},
    Row{"attention.qkv", "attention.k_lin", Kind::kLinear, 'D', 'D', 1},
    Row{"attention.qkv", "attention.v_lin", Kind::kLinear, 'D', 'D', 2},
    Row{"attention.output", "attention.out_lin", Kind::kLinear, 'D'},
    Row{"attention_norm", "sa_layer_norm", Kind::kNorm, 'D'},
    Row{"feed_forward.up", "ffn.lin1", Kind::kLinear, 'F'},
    Row{"feed_forward.down", "ffn.lin2", Kind::kLinear, 'D', 'F'},
    Row{"feed_forward_norm", "output_layer_norm", Kind::kNorm, 'D'},
};
constexpr std::array kDistilBertMlm = {
    Row{"head.dense", "vocab_transform", Kind::kLinear, 'E'},
    Row{"head.norm", "vocab_layer_norm", Kind::kNorm, 'E'},
    Row{"head.decoder", "vocab_projector", Kind::kTable, 'V', 'E'},
    Row{"head.bias", "vocab_projector.bias", Kind::kVector, 'V'},
};
constexpr std::array kDistilBertClassifier = {
    Row{"head.dense", "pre_classifier", Kind::kLinear, 'D'},
    Row{"head.output", "classifier", Kind::kLinear, 'C'},
};

constexpr std::array kElectraEmbeddings = {
    kBertEmbeddings[0],
    kBertEmbeddings[1],
    kBertEmbeddings[2],
    kBertEmbeddings[3],
    Row{"projection", "embeddings_project", Kind::kLinear, 'D', 'E'},
};
constexpr std::array kElectraMlm = {
    Row{"head.dense", "generator_predictions.dense", Kind::kLinear, 'E'},
    Row{"head.norm", "generator_predictions.LayerNorm", Kind::kNorm, 'E'},
    Row{"head.decoder", "generator_lm_head", Kind::kTable, 'V', 'E'},
    Row{"head.bias", "generator_lm_head.bias", Kind::kVector, 'V'},
};
constexpr std::array kElectraReplaced = {
    Row{"head.dense", "discriminator_predictions.dense", Kind::kLinear, 'D'},
    Row{"head.output", "discriminator_predictions.dense_prediction", Kind::kLinear, 'C'},
};

constexpr std::array kModernBertEmbeddings = {
    Row{"embeddings.word", "embeddings.tok_embeddings", Kind::kTable, 'V'},
    Row{"embeddings.norm", "embeddings.norm", Kind::kNorm, 'D'},
};
constexpr std::array kModernBertLayer = {
    Row{"attention_norm", "attn_norm", Kind::kNorm, 'D'},
    Row{"attention.qkv", "attn.Wqkv", Kind::kLinear, 'Q'},
    Row{"attention.output", "attn.Wo", Kind::kLinear, 'D'},
    Row{"feed_forward_norm", "mlp_norm", Kind::kNorm, 'D'},
    Row{"feed_forward.up", "mlp.Wi", Kind::kLinear, 'G'},
    Row{"feed_forward.down", "mlp.Wo", Kind::kLinear, 'D', 'F'},
};
constexpr std::array kModernBertFinalNorm = {Row{"layers.norm", "final_norm", Kind::kNorm, 'D'}};
constexpr std::array kModernBertMlm = {
    Row{"head.dense", "head.dense", Kind::kLinear, 'D'},
    Row{"head.norm", "head.norm", Kind::kNorm, 'D'},
    Row{"head.decoder", "decoder", Kind::kTable, 'V'},
    Row{"head.bias", "decoder.bias", Kind::kVector, 'V'},
};
constexpr std::array kModernBertClassifier = {
    Row{"head.dense", "head.dense", Kind::kLinear, 'D'},
    Row{"head.norm", "head.norm", Kind::kNorm, 'D'},
    Row{"head.output", "classifier", Kind::kLinear, 'C'},
};

constexpr BertWeightNames kBertTable = {.embeddings = kBertEmbeddings,
                                        .layers = "encoder.layer.",
                                        .layer = kPostNormLayer,
                                        .pooler = kPooler,
                                        .mlm = kBertMlm,
                                        .nsp = kBertNsp,
                                        .sequence = kClassifier,
                                        .token = kClassifier,
                                        .span = kSpan,
                                        .bias_copy = "cls.predictions.decoder.bias",
                                        .tied_copy = "cls.predictions.decoder."};
constexpr BertWeightNames kRobertaTable = {.embeddings = kBertEmbeddings,
                                           .layers = "encoder.layer.",
                                           .layer = kPostNormLayer,
                                           .pooler = kPooler,
                                           .mlm = kRobertaMlm,
                                           .sequence = kRobertaClassifier,
                                           .token = kClassifier,
                                           .span = kSpan,
                                           .bias_copy = "lm_head.decoder.bias",
                                           .tied_copy = "lm_head.decoder."};
constexpr BertWeightNames kDistilBertTable = {.embeddings = kDistilBertEmbeddings,
                                              .layers = "transformer.layer.",
                                              .layer = kDistilBertLayer,
                                              .mlm = kDistilBertMlm,
                                              .sequence = kDistilBertClassifier,
                                              .token = kClassifier,
                                              .span = kSpan,
                                              .tied_copy = "vocab_projector.weight"};
constexpr BertWeightNames kElectraTable = {.embeddings = kElectraEmbeddings,
                                           .layers = "encoder.layer.",
                                           .layer = kPostNormLayer,
                                           .mlm = kElectraMlm,
                                           .sequence = kRobertaClassifier,
                                           .token = kClassifier,
                                           .span = kSpan,
                                           .replaced = kElectraReplaced,
                                           .tied_copy = "generator_lm_head.weight"};

constexpr BertWeightNames kModernBertTable = {.embeddings = kModernBertEmbeddings,
                                              .layers = "layers.",
                                              .layer = kModernBertLayer,
                                              .final_norm = kModernBertFinalNorm,
                                              .mlm = kModernBertMlm,
                                              .sequence = kModernBertClassifier,
                                              .token = kModernBertClassifier,
                                              .span = kModernBertClassifier,
                                              .tied_copy = "decoder.weight"};

/// The same names, pre-norm.
constexpr BertWeightNames pre_norm(BertWeightNames table) {
  table.layer = kPreNormLayer;
  table.final_norm = kFinalNorm;
  return table;
}

struct Named {
  Family family;
  NormPlacement norm_placement;
  BertWeightNames table;
};

constexpr std::array kTables = {
    Named{Family::kBert, NormPlacement::kPost, kBertTable},
    Named{Family::kBert, NormPlacement::kPre, pre_norm(kBertTable)},
    Named{Family::kRoberta, NormPlacement::kPost, kRobertaTable},
    Named{Family::kRoberta, NormPlacement::kPre, pre_norm(kRobertaTable)},
    Named{Family::kXlmRoberta, NormPlacement::kPost, kRobertaTable},
    Named{Family::kDistilBert, NormPlacement::kPost, kDistilBertTable},
    Named{Family::kElectra, NormPlacement::kPost, kElectraTable},
    Named{Family::kModernBert, NormPlacement::kPre, kModernBertTable},
};

}  // namespace

const BertWeightNames& bert_weight_names(const ModelOptions& options) {
  for (const auto& named : kTables) {
    if (named.family == options.family && named.norm_placement == options.norm_placement) {
      return named.table;
    }
  }
  throw std::logic_error("a family without names");
}

}  // namespace weft::models
