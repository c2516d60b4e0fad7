#include "objectives/mask_options.h"

#include "base/string_util.h"

namespace weft::objectives {

namespace {

constexpr config::Range kMaskShare = {.min = 0, .max = 1};

void read_spans(config::Section& section, data::MaskOptions& mask) {
  section.read("mean_span", mask.mean_span,
               {.help = "Mean length of masked spans (geometric).",
                .unit = "words",
                .range = config::between(1, 100),
                .only_if = "mask_unit: span"});
  section.read("max_span", mask.max_span,
               {.help = "Longest masked span.",
                .unit = "words",
                .range = config::between(1, 1000),
                .only_if = "mask_unit: span"});
  const data::MaskOptions plain;
  if (mask.unit != data::MaskUnit::kSpan && mask.mean_span != plain.mean_span) {
    section.fail("mean_span", "has no effect here, only with mask_unit: span");
  }
  if (mask.unit != data::MaskUnit::kSpan && mask.max_span != plain.max_span) {
    section.fail("max_span", "has no effect here, only with mask_unit: span");
  }
}

}  // namespace

void read_mask_options(config::Section& section, data::MaskOptions& mask) {
  static const config::Choices<data::MaskUnit> kUnits = {{"token", data::MaskUnit::kToken},
                                                         {"word", data::MaskUnit::kWord},
                                                         {"span", data::MaskUnit::kSpan}};
  section.read("mask_fraction", mask.fraction,
               {.help = "Masking probability: fraction of the tokens of a sequence that are "
                        "selected for prediction, not counting special tokens.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("mask_token_prob", mask.mask_token_prob,
               {.help = "Fraction of the selected tokens that are replaced by the mask token. "
                        "Default for replaced_token: 1.",
                .range = kMaskShare});
  section.read("random_token_prob", mask.random_token_prob,
               {.help = "Fraction of the selected tokens that are replaced by random tokens; the "
                        "rest are left unchanged. Default for replaced_token: 0.",
                .range = kMaskShare});
  if (mask.mask_token_prob + mask.random_token_prob > 1.0 + 1e-9) {
    section.fail("random_token_prob", str_cat(mask.random_token_prob, " and mask_token_prob ",
                                              mask.mask_token_prob, " must add up to at most 1"));
  }
  section.read_choice("mask_unit", mask.unit, kUnits,
                      {.help = "Masking unit. token: single tokens. word: whole words (whole word "
                               "masking). span: spans of words (SpanBERT, arXiv:1907.10529)."});
  read_spans(section, mask);
  section.read(
      "static_masking", mask.is_static,
      {.help =
           "Static masking: the same tokens are masked in every epoch. false: dynamic masking."});
}

}  // namespace weft::objectives
