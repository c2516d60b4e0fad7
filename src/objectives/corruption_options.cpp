#include "objectives/corruption_options.h"

namespace weft::objectives {

namespace {

constexpr config::Range kNoiseShare = {.min = 0, .max = 1};
constexpr config::Range kFraction = {.min = 0, .max = 1, .is_max_exclusive = true};

}  // namespace

void read_span_corruption(config::Section& section, data::SpanCorruptionOptions& options) {
  constexpr std::string_view kOnly = "type: span_corruption";
  section.read("noise_density", options.fraction,
               {.help = "Corruption rate: fraction of the tokens of a text that are replaced by "
                        "sentinel tokens.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true},
                .only_if = kOnly});
  section.read("mean_noise_span_length", options.span_mean,
               {.help = "Mean length of the corrupted spans in tokens.",
                .unit = "tokens",
                .range = config::between(1, 1000),
                .only_if = kOnly});
}

void read_denoising(config::Section& section, data::DenoisingOptions& options) {
  constexpr std::string_view kOnly = "type: denoise";
  section.read("permute_sentences", options.permute_sentences,
               {.help = "Probability that the sentences of a text are shuffled.",
                .range = kNoiseShare,
                .only_if = kOnly});
  section.read(
      "rotate", options.rotate,
      {.help = "Probability that a text is rotated to start at a random token (document rotation).",
       .range = kNoiseShare,
       .only_if = kOnly});
  section.read(
      "infill_fraction", options.infilling_fraction,
      {.help =
           "Text infilling: fraction of the tokens that are replaced by mask tokens, one per span.",
       .range = kFraction,
       .only_if = kOnly});
  section.read(
      "poisson_lambda", options.infilling_span_mean,
      {.help =
           "Text infilling: mean span length (Poisson). A span of length 0 inserts a mask token.",
       .unit = "tokens",
       .range = {.min = 0.5, .max = 100},
       .only_if = kOnly});
  section.read("delete_fraction", options.delete_fraction,
               {.help = "Token deletion: fraction of the tokens that are deleted.",
                .range = kFraction,
                .only_if = kOnly});
  section.read(
      "token_mask_fraction", options.mask_fraction,
      {.help = "Token masking: fraction of the tokens that are replaced by a mask token each.",
       .range = kFraction,
       .only_if = kOnly});
}

}  // namespace weft::objectives
