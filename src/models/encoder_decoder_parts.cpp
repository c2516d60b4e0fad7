#include "models/encoder_decoder_parts.h"

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/encoder_decoder.h"

namespace weft::models {

namespace {

using config::Section;

/// `is_alike`: encoder and decoder have equal heads and widths (T5).
void read_decoder(Section section,
                  ModelOptions& options,
                  const ModelOptions* base,
                  bool shares_sizes) {
  auto& decoder = options.decoder;
  const auto* other = base == nullptr ? nullptr : &base->decoder;
  section.read(
      "layers", decoder.layers,
      {.help = "Number of decoder layers. Default: same as the encoder, if layers is given.",
       .unit = "layers",
       .range = config::between(1, 1024)});
  require_unchanged(section, "layers", other == nullptr || decoder.layers == other->layers);
  if (shares_sizes) {
    decoder.heads = options.heads;
    decoder.width = options.width;
    section.reject_unread();
    return;
  }
  section.read("heads", decoder.heads,
               {.help = "Number of attention heads of the decoder. Default: same as the encoder, "
                        "if attention.heads is given.",
                .unit = "heads",
                .range = config::between(1, 1024)});
  section.read("width", decoder.width,
               {.help = "Intermediate size of the decoder's feed-forward layer. Default: same as "
                        "the encoder, if feed_forward.width is given.",
                .unit = "features",
                .range = config::between(1, 1 << 20)});
  if (options.dim % decoder.heads != 0) {
    section.fail("heads", str_cat(decoder.heads, " does not divide dim ", options.dim));
  }
  require_unchanged(section, "heads", other == nullptr || decoder.heads == other->heads);
  require_unchanged(section, "width", other == nullptr || decoder.width == other->width);
  section.reject_unread();
}

void read_relative(Section& section, ModelOptions& options, const ModelOptions* base) {
  section.read("head_dim", options.head_dim,
               {.help = "Head size of encoder and decoder.",
                .unit = "features",
                .range = config::between(1, 1024)});
  require_unchanged(section, "head_dim", base == nullptr || options.head_dim == base->head_dim);
  section.read("gated", options.is_gated,
               {.help = "Gated feed-forward layer: a second projection is multiplied with the "
                        "activations (T5 v1.1, mT5)."});
  require_unchanged(section, "gated", base == nullptr || options.is_gated == base->is_gated);
  auto relative = section.section(
      "relative_attention", {.help = "Relative position bias, added to the attention scores."});
  options.relative = nn::read_t5_bias_options(relative, options.relative);
  require_unchanged(relative, "num_buckets",
                    base == nullptr || options.relative.buckets == base->relative.buckets);
  require_unchanged(
      relative, "max_distance",
      base == nullptr || options.relative.max_distance == base->relative.max_distance);
  relative.reject_unread();
}

}  // namespace

void read_encoder_decoder_keys(Section& section,
                               ModelOptions& options,
                               const ModelOptions* base,
                               const EncoderDecoderKeys& keys) {
  const auto before = options;
  auto& decoder = options.decoder;
  SharedModelKeys stack;
  stack.has_activation = keys.has_activation;
  stack.read_feed_forward = keys.read_feed_forward;
  stack.has_ties = keys.has_relative || keys.has_embedding_ties;
  if (keys.has_relative) {
    read_relative(section, options, base);
  }
  read_shared_model_keys(section, options, base, stack);
  if (section.has("relative_attention") && !options.layer_types.positions.empty()) {
    section.fail("relative_attention", "has no effect: model.position names other types");
  }
  if (section.has("dropout")) {
    options.activation_dropout = keys.has_relative ? options.dropout : 0;
  }
  if (keys.has_inner_dropout) {
    section.read(
        "activation_dropout", options.activation_dropout,
        {.help = "Dropout probability after the activation function in feed-forward layers.",
         .range = config::half_open(0, 1)});
  }
  if (base == nullptr) {
    decoder.layers = options.layers != before.layers ? options.layers : decoder.layers;
    decoder.heads = options.heads != before.heads ? options.heads : decoder.heads;
    decoder.width = options.width != before.width ? options.width : decoder.width;
  }
  read_decoder(section.section("decoder", {.help = "Decoder stack."}), options, base,
               keys.has_relative);
  if (keys.has_scaled_embedding) {
    section.read("scale_embedding", decoder.scale_embedding,
                 {.help = "Multiplies word embeddings by sqrt(dim)."});
    require_unchanged(section, "scale_embedding",
                      base == nullptr || decoder.scale_embedding == base->decoder.scale_embedding);
  }
  if (keys.has_embedding_ties) {
    section.read("share_encoder_decoder_embeddings", decoder.share_encoder_decoder_embeddings,
                 {.help = "Shares the word embeddings between encoder and decoder."});
    require_unchanged(section, "share_encoder_decoder_embeddings",
                      base == nullptr || decoder.share_encoder_decoder_embeddings ==
                                             base->decoder.share_encoder_decoder_embeddings);
    if (decoder.share_encoder_decoder_embeddings && !options.tie_word_embeddings &&
        !section.is_documenting()) {
      section.fail("tie_word_embeddings",
                   "false together with share_encoder_decoder_embeddings: true; allowed is to tie "
                   "all three, only the decoder's two, or none");
    }
  }
  if (keys.has_relative) {
    section.read("scale_decoder_outputs", decoder.scale_decoder_outputs,
                 {.help = "Divides the decoder's output states by sqrt(dim) before the output "
                          "projection (T5 v1.0)."});
    require_unchanged(
        section, "scale_decoder_outputs",
        base == nullptr || decoder.scale_decoder_outputs == base->decoder.scale_decoder_outputs);
  }
}

void read_decoding_ids(const JsonFields& fields, ModelOptions& options) {
  read_id(fields, "decoder_start_token_id", options.decoder.decoder_start_id, options.vocabulary);
  read_id(fields, "forced_bos_token_id", options.decoder.forced_bos_id, options.vocabulary);
  read_id(fields, "forced_eos_token_id", options.decoder.forced_eos_id, options.vocabulary);
}

void write_decoding_ids(formats::Json& json, const ModelOptions& options) {
  json["decoder_start_token_id"] = id_or_null(options.decoder.decoder_start_id);
  if (options.decoder.forced_bos_id >= 0) {
    json["forced_bos_token_id"] = options.decoder.forced_bos_id;
  }
  json["forced_eos_token_id"] = id_or_null(options.decoder.forced_eos_id);
}

void set_decoding_ids(ModelOptions& options) {
  auto& decoder = options.decoder;
  if (!is_encoder_decoder(options)) {
    return;
  }
  decoder.decoder_start_id =
      capabilities_of(options.family).decoder_starts_with_eos ? options.eos_id : options.pad_id;
  if (capabilities_of(options.family).forces_eos) {
    decoder.forced_eos_id = options.eos_id;
  }
}

formats::Json encoder_decoder_generation(const ModelOptions& options) {
  if (!generates(options)) {
    return nullptr;
  }
  formats::Json json = {{"_from_model_config", true}};
  write_ids(json, options);
  write_decoding_ids(json, options);
  return json;
}

ModelOptions sized_encoder_decoder(ModelOptions options, const EncoderDecoderSize& size) {
  options.dim = size.dim;
  options.layers = options.decoder.layers = size.layers;
  options.heads = options.decoder.heads = size.heads;
  options.width = options.decoder.width = size.width;
  return options;
}

FamilyDefinition encoder_decoder_definition(const HfNames& hf_names) {
  return {.name = hf_names.model_type,
          .hf_names = {hf_names},
          .capabilities = {.has_pooler = false,
                           .has_segments = false,
                           .has_logits_bias = true,
                           .forces_eos = true},
          .generation_json = encoder_decoder_generation,
          .make = construct<EncoderDecoder>,
          .is_encoder_decoder = true};
}

}  // namespace weft::models
