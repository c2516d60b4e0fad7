#include "objectives/noise_keys.h"

namespace weft::objectives {

namespace {

constexpr config::Range kNoiseShare = {.min = 0, .max = 1};
constexpr config::Range kFraction = {.min = 0, .max = 1, .excludes_max = true};

}  // namespace

void read_span_corruption(config::Section& section, data::SpanCorruptionOptions& options) {
  constexpr std::string_view kOnly = "type: span_corruption";
  section.read("noise_fraction", options.fraction,
               {.help = "Share of a text's tokens that give way to sentinels.",
                .range = {.min = 0, .max = 1, .excludes_min = true, .excludes_max = true},
                .only = kOnly});
  section.read("noise_span_mean", options.span_mean,
               {.help = "Mean length of the spans that a sentinel stands for.",
                .unit = "tokens",
                .range = config::between(1, 1000),
                .only = kOnly});
}

void read_denoising(config::Section& section, data::DenoiseOptions& options) {
  constexpr std::string_view kOnly = "type: denoise";
  section.read("permute_sentences", options.permute_sentences,
               {.help = "Share of the texts whose sentences are put in random order.",
                .range = kNoiseShare,
                .only = kOnly});
  section.read("rotate", options.rotate,
               {.help = "Share of the texts that begin with a random token of theirs, what was "
                        "before it standing at the end.",
                .range = kNoiseShare,
                .only = kOnly});
  section.read("infill_fraction", options.infill_fraction,
               {.help = "Share of a text's tokens that give way to masks, one for each span.",
                .range = kFraction,
                .only = kOnly});
  section.read("infill_mean", options.infill_mean,
               {.help = "Mean length of these spans (Poisson); one of none puts a mask between two "
                        "tokens.",
                .unit = "tokens",
                .range = {.min = 0.5, .max = 100},
                .only = kOnly});
  section.read(
      "delete_fraction", options.delete_fraction,
      {.help = "Share of a text's tokens that are deleted.", .range = kFraction, .only = kOnly});
  section.read("hide_fraction", options.hide_fraction,
               {.help = "Share of a text's tokens that are replaced by a mask each.",
                .range = kFraction,
                .only = kOnly});
}

}  // namespace weft::objectives
