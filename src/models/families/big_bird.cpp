#include "base/string_util.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"
#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::models {

namespace {

using kernels::Activation;

constexpr int64_t kMostBlock = 1 << 20;
constexpr int64_t kMostRandomBlocks = 1024;

/// The published models (arXiv:2007.14062, appendix E).
ModelOptions big_bird_defaults() {
  ModelOptions options;
  options.activation = Activation::kGeluTanh;
  options.length = 4096;
  return options;
}

std::vector<Preset> big_bird_presets() {
  const auto begin = big_bird_defaults();
  return {{"big-bird-mini", sized(begin, {4, 256, 4})},
          {"big-bird-base", sized(begin, {12, 768, 12})},
          {"big-bird-large", sized(begin, {24, 1024, 16})}};
}

/// Values of absent config.json keys.
ModelOptions absent_big_bird() {
  auto options = big_bird_defaults();
  options.vocabulary = 50358;
  options.bos_id = 1;
  options.eos_id = 2;
  return options;
}

nn::AttentionMaker big_bird_attention_of(const ModelOptions& options, int64_t /*layer*/) {
  if (options.block_sparse.is_full) {
    return nn::make_full_attention;
  }
  const nn::BigBirdOptions own{.block = options.block_sparse.block,
                               .random_blocks = options.block_sparse.random_blocks};
  return [own](const nn::AttentionOptions& attention) {
    return nn::make_sparse_attention(attention, {nn::make_big_bird_pattern(own, attention.layer)});
  };
}

void read_big_bird_blocks(LayerPartSection& part,
                          ModelOptions& options,
                          const ModelOptions* /*base*/) {
  auto& section = part.shared();
  auto& own = options.block_sparse;
  const auto type = read_attention_types(
      part,
      {.family_types = {"big_bird", "full"},
       .default_type = own.is_full ? "full" : "big_bird",
       .layers = options.layers,
       .help = "Which tokens a token attends to: blocks of them, all, or another attention type."},
      options.layer_types);
  own.is_full = type == "full";
  if (type != "big_bird" && !section.is_documenting()) {
    return;
  }
  section.read(
      "block", own.block,
      {.help = "Tokens of a block.", .unit = "tokens", .range = config::between(1, kMostBlock)});
  section.read("random_blocks", own.random_blocks,
               {.help = "Random blocks that each block attends to.",
                .unit = "blocks",
                .range = config::between(0, kMostRandomBlocks)});
}

void read_big_bird_json(const JsonFields& fields, ModelOptions& options) {
  std::string type = "block_sparse";
  fields.read("attention_type", type);
  if (type != "block_sparse" && type != "original_full") {
    fields.fail("attention_type", str_cat("found ", quoted_text(type),
                                          ", allowed are block_sparse and original_full"));
  }
  options.block_sparse.is_full = type == "original_full";
  fields.read("block_size", options.block_sparse.block, 1, kMostBlock);
  fields.read("num_random_blocks", options.block_sparse.random_blocks, 0, kMostRandomBlocks);
  bool has_bias = true;
  fields.read("use_bias", has_bias);
  bool is_rescaled = false;
  fields.read("rescale_embeddings", is_rescaled);
  if (!has_bias) {
    fields.fail("use_bias", "found false, must be true");
  }
  if (is_rescaled) {
    fields.fail("rescale_embeddings", "found true, must be false");
  }
}

void write_big_bird_json(formats::Json& json, const ModelOptions& options) {
  json["attention_type"] = options.block_sparse.is_full ? "original_full" : "block_sparse";
  json["block_size"] = options.block_sparse.block;
  json["num_random_blocks"] = options.block_sparse.random_blocks;
  json["use_bias"] = true;
  json["rescale_embeddings"] = false;
}

}  // namespace

FamilyDefinition big_bird() {
  auto made =
      bert_family::definition({NormPlacement::kPost, "big_bird", "bert", "BigBird"},
                              {.keeps_pooler = true, .classifier_uses_stack_activation = true},
                              {.pooler = "pooler",
                               .bias_copy = "cls.predictions.decoder.bias",
                               .tied_copy = "cls.predictions.decoder.",
                               .sequence_dense = "classifier.dense",
                               .sequence = "classifier.out_proj"});
  // Its head for answers has another layer.
  std::erase_if(made.heads, [](const HfHeadName& head) { return head.head == Head::kSpan; });
  made.defaults = big_bird_defaults;
  made.presets = big_bird_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(
        section, options, base,
        {.pooling = "cls", .has_sinusoids = true, .read_window = read_big_bird_blocks});
  };
  bert_family::set_json(made, absent_big_bird,
                        {.read_more = read_big_bird_json, .write_more = write_big_bird_json});
  made.attention = big_bird_attention_of;
  return made;
}

}  // namespace weft::models
