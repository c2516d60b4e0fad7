#include "objectives/corruption_options.h"

namespace weft::objectives {

namespace {

constexpr config::Range kNoiseShare = {.min = 0, .max = 1};
constexpr config::Range kFraction = {.min = 0, .max = 1, .is_max_exclusive = true};

}  // namespace

void read_span_corruption(config::Section& section, data::SpanCorruptionOptions& options) {
  constexpr std::string_view kOnly = "type: span_corruption";
  section.read("noise_density", options.fraction,
               {.help = "Share of a text's tokens that give way to sentinels.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true},
                .only_if = kOnly});
  section.read("mean_noise_span_length", options.span_mean,
               {.help = "Mean length of the spans that a sentinel stands for.",
                .unit = "tokens",
                .range = config::between(1, 1000),
                .only_if = kOnly});
}

void read_denoising(config::Section& section, data::DenoisingOptions& options) {
  constexpr std::string_view kOnly = "type: denoise";
  section.read("permute_sentences", options.permute_sentences,
               {.help = "Share of the texts whose sentences are put in random order.",
                .range = kNoiseShare,
                .only_if = kOnly});
  section.read("rotate", options.rotate,
               {.help = "Share of the texts that begin with a random token of theirs, what was "
                        "before it standing at the end.",
                .range = kNoiseShare,
                .only_if = kOnly});
  section.read("infill_fraction", options.infilling_fraction,
               {.help = "Share of a text's tokens that give way to masks, one for each span.",
                .range = kFraction,
                .only_if = kOnly});
  section.read("poisson_lambda", options.infilling_span_mean,
               {.help = "Mean length of these spans (Poisson); one of none puts a mask between two "
                        "tokens.",
                .unit = "tokens",
                .range = {.min = 0.5, .max = 100},
                .only_if = kOnly});
  section.read(
      "delete_fraction", options.delete_fraction,
      {.help = "Share of a text's tokens that are deleted.", .range = kFraction, .only_if = kOnly});
  section.read("token_mask_fraction", options.mask_fraction,
               {.help = "Share of a text's tokens that are replaced by a mask each.",
                .range = kFraction,
                .only_if = kOnly});
}

}  // namespace weft::objectives
