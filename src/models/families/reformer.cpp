#include "models/reformer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/families/reformer_kind.h"
#include "nn/attention/approximations/sorted_hash_attention.h"
#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/position/position_types.h"

namespace weft::models {

namespace {

constexpr auto kFamilyAttention = "local_lsh";

}  // namespace

ModelOptions reformer_family::defaults() {
  ModelOptions options;
  options.dim = 256;
  options.layers = 6;
  options.heads = 4;
  options.head_dim = 64;
  options.width = 512;
  options.length = 4096;
  options.type_vocab_size = 0;
  options.activation = kernels::Activation::kRelu;
  options.norm_placement = NormPlacement::kPre;
  options.dropout = 0.05;
  options.attention_dropout = 0.05;
  options.tie_word_embeddings = false;
  return options;
}

namespace {

std::vector<Preset> reformer_presets() { return {{"reformer-mini", reformer_family::defaults()}}; }

/// A multiple of the chunk lengths of all layers, to which transformers pads.
int64_t chunk_multiple(const ModelOptions& options) {
  const auto& own = options.reformer;
  int64_t multiple = 1;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const bool is_hashed = is_hashed_layer(options, layer);
    multiple = std::lcm(multiple, is_hashed ? own.hashed.length : own.local.length);
  }
  return multiple;
}

nn::AttentionMaker reformer_attention_of(const ModelOptions& options, int64_t layer) {
  const auto& own = options.reformer;
  const auto multiple = chunk_multiple(options);
  const bool is_causal = is_causal_reformer(options);
  if (!is_hashed_layer(options, layer)) {
    const nn::NeighbourChunkOptions chunks{.length = own.local.length,
                                           .before = own.local.before,
                                           .after = is_causal ? 0 : own.local.after,
                                           .multiple = multiple};
    return [chunks](const nn::AttentionOptions& attention) {
      return nn::make_sparse_attention(attention, {nn::make_neighbour_chunks(chunks)});
    };
  }
  const auto root = static_cast<int64_t>(
      std::sqrt(static_cast<double>(options.length / own.hashed.length)));  // as in transformers
  const nn::SortedHashOptions hashes{.length = own.hashed.length,
                                     .before = own.hashed.before,
                                     .after = is_causal ? 0 : own.hashed.after,
                                     .multiple = multiple,
                                     .buckets = own.buckets,
                                     .most_buckets = 2 * std::max(root, own.hashed.length),
                                     .rounds = own.rounds,
                                     .seed = own.seed};
  return [hashes](const nn::AttentionOptions& attention) {
    return nn::make_sorted_hash_attention(attention, hashes);
  };
}

std::vector<nn::PositionChoice> reformer_positions(const ModelOptions& options) {
  const auto& own = options.reformer;
  if (own.axial_shape.empty()) {
    return learned_positions(options);
  }
  return {{.type = "axial",
           .keys = "{}",
           .make = nn::axial_position({.shape = own.axial_shape, .dims = own.axial_dims})}};
}

void read_attn_layers(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& hashed = options.reformer.hashed_layers;
  std::vector<std::string> words;
  for (int64_t layer = 0; layer < options.layers && (layer < 2 || !hashed.empty()); ++layer) {
    words.emplace_back(is_hashed_layer(options, layer) ? reformer_family::kHashed
                                                       : reformer_family::kLocal);
  }
  section.read("attn_layers", words,
               {.help = "Attention of the layers, repeated until all have one. local: chunks of "
                        "consecutive tokens; lsh: of tokens sorted by a hash of their features."});
  hashed.clear();
  for (int64_t layer = 0; layer < options.layers && !words.empty(); ++layer) {
    const auto& word = words[static_cast<std::size_t>(layer) % words.size()];
    if (word != reformer_family::kLocal && word != reformer_family::kHashed) {
      section.fail("attn_layers", str_cat("found '", word, "', allowed are local and lsh"));
    }
    hashed.push_back(word == reformer_family::kHashed);
  }
  if (words.empty()) {
    section.fail("attn_layers", "is empty, must name local or lsh");
  }
  require_unchanged(section, "attn_layers",
                    base == nullptr || hashed == base->reformer.hashed_layers);
}

void read_chunks(config::Section& section,
                 const std::string& kind,
                 const std::string& help,
                 ReformerChunkOptions& chunks) {
  section.read(
      kind + "_attn_chunk_length", chunks.length,
      {.help = help, .unit = "tokens", .range = config::between(1, reformer_family::kMostChunk)});
  section.read(kind + "_num_chunks_before", chunks.before,
               {.help = "Chunks before its own that a token attends to as well.",
                .unit = "chunks",
                .range = config::between(0, reformer_family::kMostNeighbours)});
  section.read(kind + "_num_chunks_after", chunks.after,
               {.help = "Chunks after its own that a token attends to as well; none in causal "
                        "models.",
                .unit = "chunks",
                .range = config::between(0, reformer_family::kMostNeighbours)});
}

void read_reformer_attention_keys(LayerPartSection& part,
                                  ModelOptions& options,
                                  const ModelOptions* base) {
  auto& section = part.shared();
  const auto type = read_attention_types(
      part,
      {.family_types = {kFamilyAttention},
       .default_type = kFamilyAttention,
       .layers = options.layers,
       .help = "Reformer's attention in chunks, local and by hash, or another attention type."},
      options.layer_types);
  auto& own = options.reformer;
  if (type != kFamilyAttention && !section.is_documenting()) {
    own.hashed_layers.clear();
    return;
  }
  read_attn_layers(section, options, base);
  read_chunks(section, reformer_family::kLocal, "Tokens of a chunk of local attention.", own.local);
  read_chunks(section, reformer_family::kHashed,
              "Tokens of a chunk of attention by hash. Texts that are not longer have full "
              "attention.",
              own.hashed);
  section.read("lsh_dropout", own.hashed_dropout,
               {.help = "Dropout probability of the attention weights of lsh layers.",
                .range = config::half_open(0, 1)});
  section.read(
      "num_hashes", own.rounds,
      {.help = "Rounds of hashing.", .range = config::between(1, reformer_family::kMostRounds)});
  section.read("num_buckets", own.buckets,
               {.help = "Buckets of the hash, as factors of their number, all even. []: by the "
                        "length of a text."});
  if (!reformer_family::are_even(own.buckets)) {
    section.fail("num_buckets", "must be up to 8 even numbers");
  }
  section.read("hash_seed", own.seed,
               {.help = "Seed of the hashes, which are then those of transformers. null: other "
                        "hashes in each step of training.",
                .range = config::between(0, reformer_family::kMostSeed)});
}

void read_reformer_feed_forward(LayerPartSection& part,
                                ModelOptions& options,
                                const ModelOptions* /*base*/) {
  read_feed_forward_types(part,
                          {.family_types = {"standard"},
                           .default_type = "standard",
                           .layers = options.layers,
                           .help = "The type of the feed-forward."},
                          options.layer_types);
  part.shared().read("chunk_size_feed_forward", options.reformer.feed_forward_chunk,
                     {.help = "Tokens that a feed-forward computes at once, and once more in the "
                              "backward pass, to save memory. 0: all.",
                      .unit = "tokens",
                      .range = config::between(0, reformer_family::kMostChunk)});
}

/// Axial positions alone are the family's own.
void take_axial_positions(config::Section& section, ModelOptions& options) {
  auto& types = options.layer_types.positions;
  if (types.size() != 1 || types.front().type != "axial" || section.is_documenting()) {
    return;
  }
  const auto keys = formats::Json::parse(types.front().keys);
  options.reformer.axial_shape = keys.at("shape").get<std::vector<int64_t>>();
  options.reformer.axial_dims = keys.at("dims").get<std::vector<int64_t>>();
  types.front().make({.dim = options.dim, .length = options.length});  // checks them
  types.clear();
}

void read_reformer_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(section, options, base,
                         {.has_ties = false,
                          .has_residual = false,
                          .pooling = "cls",
                          .has_head_dim = true,
                          .half_dims_of_width = 4,
                          .read_window = read_reformer_attention_keys,
                          .read_feed_forward = read_reformer_feed_forward});
  take_axial_positions(section, options);
  section.read("is_decoder", options.reformer.is_causal,
               {.help = "A token attends to no later token, also in models that do not generate."});
}

Initializer reformer_initializer(const std::string& parameter, const ModelOptions& options) {
  const bool is_axial = parameter.find(".position.weights_") != std::string::npos;
  return {.init_std = is_axial ? options.reformer.axial_init_std : options.init_std};
}

}  // namespace

FamilyDefinition reformer() {
  return {.name = "reformer",
          .hf_names = {{NormPlacement::kPre, "reformer", "reformer", "Reformer"}},
          .heads = {{Head::kNone, "Model"},
                    {Head::kCausalLm, "ModelWithLMHead"},
                    {Head::kMaskedLm, "ForMaskedLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kSpan, "ForQuestionAnswering"}},
          .capabilities = {.has_pooler = false,
                           .has_segments = false,
                           .classifier_activation = kernels::Activation::kTanh,
                           .has_mlm_transform = false,
                           .has_layer_kinds = true,
                           .has_stream_concatenation = true},
          .defaults = reformer_family::defaults,
          .presets = reformer_presets,
          .read_keys = read_reformer_keys,
          .read_json = reformer_family::read_json,
          .write_json = reformer_family::write_json,
          .generation_json = plain_generation_json,
          .tensors = reformer_family::tensors,
          .is_ignorable = [](std::string_view name,
                             const auto& /*options*/) { return name == "lm_head.bias"; },
          .initializer = reformer_initializer,
          .make = construct<ReformerModel>,
          .style = formats::TokenizerTemplate::kRoberta,
          .attention = reformer_attention_of,
          .positions = reformer_positions};
}

}  // namespace weft::models
