#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/families/funnel_kind.h"
#include "models/funnel_encoder.h"
#include "nn/attention/attention_types.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

using config::Section;

std::vector<Preset> funnel_presets() {
  const auto begin = funnel_family::defaults();
  const auto made = [&](const StackSize& size, std::vector<int64_t> sizes,
                        std::vector<int64_t> repeats = {}) {
    return funnel_family::with_blocks(sized(begin, size), std::move(sizes), std::move(repeats));
  };
  return {{"funnel-mini", made({0, 256, 4}, {2, 2, 2})},
          {"funnel-small", made({0, 768, 12}, {4, 4, 4})},
          {"funnel-intermediate", made({0, 768, 12}, {6, 6, 6})},
          {"funnel-medium", made({0, 768, 12}, {6, 3, 3}, {1, 2, 2})},
          {"funnel-large", made({0, 1024, 16}, {8, 8, 8})},
          {"funnel-xlarge", made({0, 1024, 16}, {10, 10, 10})}};
}

void read_blocks(Section& section, FunnelOptions& own) {
  section.read("block_sizes", own.block_sizes,
               {.help = "Layers of each block. Each block after the first starts by pooling every "
                        "two tokens of a text (funnel).",
                .unit = "layers"});
  if (section.has("block_sizes") && !section.has("block_repeats")) {
    own.block_repeats.clear();
  }
  section.read("block_repeats", own.block_repeats,
               {.help = "Times that each layer of a block runs, with the same parameters. Empty: "
                        "once."});
  funnel_family::check_blocks(
      own, [&](const char* key, const std::string& message) { section.fail(key, message); });
}

void read_funnel(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.funnel;
  read_blocks(section, own);
  options.layers = encoder_layers(own);
  section.read("num_decoder_layers", own.decoder_layers,
               {.help = "Layers after the up-sampled states, of heads that need a state for each "
                        "token.",
                .unit = "layers",
                .range = config::between(0, funnel_family::kMostBlockLayers)});
  section.read_choice("pooling_type", own.pooling.type, funnel_family::pooling_types(),
                      {.help = "How two tokens become one between blocks."});
  section.read("separate_cls", own.pooling.separate_cls,
               {.help = "The first token is not pooled with others, and its attention scores have "
                        "no positions."});
  section.read("truncate_seq", own.pooling.truncate_seq,
               {.help = "With separate_cls: pooling leaves out the last token, so that 2^n tokens "
                        "become 2^(n-1)."});
  section.read("pool_q_only", own.pool_q_only,
               {.help = "The first layer of a block still reads keys and values of all tokens "
                        "before pooling."});
  if (base == nullptr) {
    return;
  }
  const auto& other = base->funnel;
  require_unchanged(section, "block_sizes", own.block_sizes == other.block_sizes);
  require_unchanged(section, "block_repeats", own.block_repeats == other.block_repeats);
  require_unchanged(section, "num_decoder_layers", own.decoder_layers, other.decoder_layers);
  require_unchanged(section, "pooling_type", own.pooling.type == other.pooling.type);
  require_unchanged(section, "separate_cls", own.pooling.separate_cls, other.pooling.separate_cls);
  require_unchanged(section, "truncate_seq", own.pooling.truncate_seq, other.pooling.truncate_seq);
  require_unchanged(section, "pool_q_only", own.pool_q_only, other.pool_q_only);
}

void read_funnel_head_dim(LayerPartSection& part, ModelOptions& options, const ModelOptions* base) {
  auto& section = part.shared();
  read_attention_types(part,
                       {.family_types = {"funnel"},
                        .default_type = "funnel",
                        .layers = options.layers,
                        .help = "Attention with the positions of Transformer-XL."},
                       options.layer_types);
  section.read("head_dim", options.head_dim,
               {.help = "Head size. 0: dim / heads.",
                .unit = "features",
                .range = config::between(0, 1024)});
  if (base != nullptr) {
    require_unchanged(section, "head_dim", options.head_dim, base->head_dim);
  }
}

void read_funnel_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  read_funnel(section, options, base);
  read_shared_model_keys(section, options, base,
                         {.has_layers = false,
                          .pooling = "cls",
                          .has_activation_dropout = true,
                          .read_window = read_funnel_head_dim});
  const auto& types = options.layer_types;
  const auto refuse = [&](std::string_view key, bool is_given, std::string_view why) {
    if (is_given) {
      section.report(key, str_cat("is not supported by funnel: ", why));
    }
  };
  refuse("attention", !types.attention.empty(), "other types do not read pooled queries");
  refuse("position", !types.positions.empty(), "its attention has positions");
  refuse("halting", types.halting.has_value(), "its layers shorten the texts");
  refuse("sharing", types.sharing.has_value(), "block_repeats shares layers");
  refuse("mix", types.mix.has_value(), "its layers have states of different lengths");
  refuse("block", nn::cuts_sequences(types.block), "its layers do not read segments of the texts");
  refuse("residual.type", types.reversible.has_value(), "pooled rows cannot be recovered");
  if (options.dim % 2 != 0) {
    section.report("dim", str_cat(options.dim, " is odd, its sinusoids need an even width"));
  }
}

nn::AttentionMaker funnel_attention_of(const ModelOptions& options, int64_t /*layer*/) {
  return [separate_cls = options.funnel.pooling.separate_cls](const auto& attention) {
    return nn::make_funnel_attention(attention, separate_cls);
  };
}

/// The positions are parts of the attention.
std::vector<nn::PositionChoice> funnel_positions(const ModelOptions& /*options*/) {
  return {{.type = "transformer_xl",
           .keys = "{}",
           .make = nn::default_component(nn::position_types(), "none").make}};
}

bool says_funnel_nothing(std::string_view name, const ModelOptions& options) {
  const bool is_of_decoder = name.starts_with("decoder.") || name.starts_with("funnel.decoder.");
  return (is_of_decoder && !has_funnel_decoder(options)) ||
         (options.tie_word_embeddings && name == "lm_head.weight");
}

Initializer funnel_initializer(const std::string& parameter, const ModelOptions& options) {
  if (parameter.find(".core.relative.") != std::string::npos) {
    const auto half = options.funnel.initializer_range / 2;
    return {.kind = Initializer::Kind::kUniform, .bound = half, .shift = half};
  }
  return {.init_std = options.init_std, .zeroes_padding = parameter == "embeddings.word.weight"};
}

}  // namespace

FamilyDefinition funnel() {
  return {.name = "funnel",
          .hf_names = {{NormPlacement::kPost, "funnel", "funnel", "Funnel"}},
          .heads = {{Head::kNone, "Model"},
                    {Head::kBase, "BaseModel"},
                    {Head::kMaskedLm, "ForMaskedLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"},
                    {Head::kSpan, "ForQuestionAnswering"},
                    {Head::kReplacedToken, "ForPreTraining"}},
          .capabilities = {.has_pooler = false,
                           .has_segments = false,
                           .classifier_activation = kernels::Activation::kTanh,
                           .has_classifier_input_dropout = false,
                           .has_mlm_transform = false,
                           .has_layer_blocks = true},
          .defaults = funnel_family::defaults,
          .presets = funnel_presets,
          .read_keys = read_funnel_keys,
          .read_json = funnel_family::read_json,
          .write_json = funnel_family::write_json,
          .tensors = funnel_family::tensors,
          .is_ignorable = says_funnel_nothing,
          .initializer = funnel_initializer,
          .make = construct<FunnelEncoder>,
          .style = formats::TokenizerTemplate::kFunnel,
          .attention = funnel_attention_of,
          .positions = funnel_positions};
}

}  // namespace weft::models
