#pragma once

namespace weft::data {

/// T5's span corruption (arXiv:1910.10683, section 3.1.4): spans of the text give way to one
/// sentinel each, and the target is the spans, each behind its sentinel.
struct SpanCorruptionOptions {
  double fraction = 0.15;  // of the tokens that give way
  double span_mean = 3;    // tokens of a span, on average
};

/// BART's noises (arXiv:1910.13461, section 2.2), applied in this order: sentences are permuted,
/// the text is rotated, spans give way to one mask token each, tokens are deleted, tokens masked.
struct DenoiseOptions {
  double permute_sentences = 1;  // share of the texts
  double rotate = 0;             // share of the texts
  double infill_fraction = 0.3;  // of the tokens that give way
  double infill_mean = 3;        // tokens of a span: Poisson; a span of none inserts a mask token
  double delete_fraction = 0;    // of the tokens
  double hide_fraction = 0;      // of the tokens: each replaced by a mask token
};

}  // namespace weft::data
