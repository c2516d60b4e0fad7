#include "models/encoder_decoder_parts.h"

#include "base/text.h"
#include "models/config/stack_json.h"
#include "models/config/stack_keys.h"
#include "models/encoder_decoder.h"

namespace weft::models {

namespace {

using config::Section;

/// `is_alike`: heads and widths of encoder and decoder are the same (T5).
void read_decoder(Section section,
                  ModelOptions& options,
                  const ModelOptions* base,
                  std::string_view only,
                  bool is_alike) {
  auto& decoder = options.decoder;
  const auto* other = base == nullptr ? nullptr : &base->decoder;
  section.read("layers", decoder.layers,
               {.help = "Blocks of the decoder; as many as the encoder has where those are given "
                        "and these are not.",
                .unit = "layers",
                .range = config::between(1, 1024),
                .only = only});
  keep_same(section, "layers", other == nullptr || decoder.layers == other->layers);
  if (is_alike) {
    decoder.heads = options.heads;
    decoder.width = options.width;
    section.reject_unread();
    return;
  }
  section.read("heads", decoder.heads,
               {.help = "Attention heads of the decoder, likewise.",
                .unit = "heads",
                .range = config::between(1, 1024),
                .only = only});
  section.read("width", decoder.width,
               {.help = "Width between the projections of the decoder's feed-forward, likewise.",
                .unit = "features",
                .range = config::between(1, 1 << 20),
                .only = only});
  if (options.dim % decoder.heads != 0) {
    section.fail("heads", text(decoder.heads, " does not divide dim ", options.dim));
  }
  keep_same(section, "heads", other == nullptr || decoder.heads == other->heads);
  keep_same(section, "width", other == nullptr || decoder.width == other->width);
  section.reject_unread();
}

void read_relative(Section& section,
                   ModelOptions& options,
                   const ModelOptions* base,
                   std::string_view only) {
  auto& decoder = options.decoder;
  const auto* other = base == nullptr ? nullptr : &base->decoder;
  section.read("head_width", decoder.head_width,
               {.help = "Width of a head, in the encoder and in the decoder.",
                .unit = "features",
                .range = config::between(1, 1024),
                .only = only});
  keep_same(section, "head_width", other == nullptr || decoder.head_width == other->head_width);
  section.read("gated", options.modern.is_gated,
               {.help = "Whether a second projection multiplies the activated one (v1.1 and mt5).",
                .only = only});
  keep_same(section, "gated", base == nullptr || options.modern.is_gated == base->modern.is_gated);
  auto relative = section.section("relative_positions",
                                  {.help = "Numbers that are added to the scores by distance."});
  relative.read("buckets", decoder.relative_buckets,
                {.help = "Kinds of distances.",
                 .unit = "buckets",
                 .range = config::between(4, 4096),
                 .only = only});
  relative.read("distance", decoder.relative_distance,
                {.help = "From this distance on all share the last bucket.",
                 .unit = "tokens",
                 .range = config::between(4, 1 << 20),
                 .only = only});
  if (decoder.relative_distance <= decoder.relative_buckets / 2) {
    relative.fail("distance",
                  text(decoder.relative_distance, " must be more than half of buckets, ",
                       decoder.relative_buckets));
  }
  keep_same(relative, "buckets",
            other == nullptr || decoder.relative_buckets == other->relative_buckets);
  keep_same(relative, "distance",
            other == nullptr || decoder.relative_distance == other->relative_distance);
  relative.reject_unread();
}

}  // namespace

void read_encoder_decoder_keys(Section& section,
                               ModelOptions& options,
                               const ModelOptions* base,
                               const EncoderDecoderKeys& keys) {
  const auto before = options;
  auto& decoder = options.decoder;
  StackKeys stack;
  stack.only = keys.only;
  stack.has_activation = keys.has_activation;
  stack.has_ties = keys.has_relative || keys.has_three_ties;
  if (keys.has_relative) {
    read_relative(section, options, base, keys.only);
  }
  read_stack_keys(section, options, base, stack);
  if (section.has("dropout")) {
    options.modern.feed_forward_dropout = keys.has_relative ? options.dropout : 0;
  }
  if (keys.has_inner_dropout) {
    section.read("feed_forward_dropout", options.modern.feed_forward_dropout,
                 {.help = "Share of the activated features of feed-forwards that are dropped in "
                          "training.",
                  .range = config::from_to_below(0, 1),
                  .only = keys.only});
  }
  if (base == nullptr) {
    decoder.layers = options.layers != before.layers ? options.layers : decoder.layers;
    decoder.heads = options.heads != before.heads ? options.heads : decoder.heads;
    decoder.width = options.width != before.width ? options.width : decoder.width;
  }
  read_decoder(section.section("decoder", {.help = "The stack that writes the target."}), options,
               base, keys.only, keys.has_relative);
  if (keys.has_scaled_embedding) {
    section.read(
        "scales_embedding", decoder.scales_embedding,
        {.help = "Whether word embeddings are multiplied by the root of dim.", .only = keys.only});
    keep_same(section, "scales_embedding",
              base == nullptr || decoder.scales_embedding == base->decoder.scales_embedding);
  }
  if (keys.has_three_ties) {
    section.read(
        "ties_source", decoder.ties_source,
        {.help = "Whether encoder and decoder share the word embedding.", .only = keys.only});
    keep_same(section, "ties_source",
              base == nullptr || decoder.ties_source == base->decoder.ties_source);
    if (decoder.ties_source && !options.ties_embeddings && !section.is_describing()) {
      section.fail("ties_embeddings",
                   "false together with ties_source: true; allowed is to tie all three, the "
                   "decoder's two, or none");
    }
  }
  if (keys.has_relative) {
    section.read("scales_output", decoder.scales_output,
                 {.help = "Whether states are divided by the root of dim before the output matrix "
                          "(t5 v1.0).",
                  .only = keys.only});
    keep_same(section, "scales_output",
              base == nullptr || decoder.scales_output == base->decoder.scales_output);
  }
}

void read_decoding_ids(const JsonFields& fields, ModelOptions& options) {
  read_id(fields, "decoder_start_token_id", options.decoder.start_id, options.vocabulary);
  read_id(fields, "forced_bos_token_id", options.decoder.forced_begin_id, options.vocabulary);
  read_id(fields, "forced_eos_token_id", options.decoder.forced_end_id, options.vocabulary);
}

void write_decoding_ids(formats::Json& json, const ModelOptions& options) {
  json["decoder_start_token_id"] = id_or_null(options.decoder.start_id);
  if (options.decoder.forced_begin_id >= 0) {
    json["forced_bos_token_id"] = options.decoder.forced_begin_id;
  }
  json["forced_eos_token_id"] = id_or_null(options.decoder.forced_end_id);
}

void settle_decoding_ids(ModelOptions& options) {
  auto& decoder = options.decoder;
  if (!reads_source(options)) {
    return;
  }
  const bool begins_with_end = options.family == Family::kBart || options.family == Family::kMbart;
  decoder.start_id = begins_with_end ? options.end_id : options.pad_id;
  if (decoder.relative_buckets == 0) {  // T5 forces none
    decoder.forced_end_id = options.end_id;
  }
}

formats::Json encoder_decoder_generation(const ModelOptions& options) {
  if (options.head != Head::kConditional) {
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

FamilyDefinition encoder_decoder_definition(const FamilyFacts& facts) {
  return {.word = facts.model_type,
          .facts = facts,
          .traits = {.has_pooler = false, .has_segments = false},
          .generation_json = encoder_decoder_generation,
          .make = construct<EncoderDecoder>,
          .reads_source = true};
}

}  // namespace weft::models
