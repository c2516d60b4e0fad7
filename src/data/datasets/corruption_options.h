#pragma once

namespace weft::data {

/// T5's span corruption (arXiv:1910.10683, section 3.1.4): each span is replaced by one sentinel,
/// and the target is the spans, each preceded by its sentinel.
struct SpanCorruptionOptions {
  double fraction = 0.15;  // of the tokens, to be replaced
  double span_mean = 3;    // mean span length in tokens
};

/// BART's noise functions (arXiv:1910.13461, section 2.2), applied in this order: sentence
/// permutation, rotation, text infilling (one mask token per span), token deletion, token masking.
struct DenoisingOptions {
  double permute_sentences = 1;     // fraction of the texts
  double rotate = 0;                // fraction of the texts
  double infilling_fraction = 0.3;  // of the tokens, to be replaced
  double infilling_span_mean = 3;   // span length in tokens: Poisson; length 0 inserts a mask token
  double delete_fraction = 0;       // of the tokens
  double mask_fraction = 0;         // of the tokens, each replaced by a mask token
};

}  // namespace weft::data
