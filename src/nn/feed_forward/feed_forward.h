#pragma once

#include <cstdint>
#include <memory>

#include "kernels/activation.h"
#include "nn/component.h"
#include "nn/sublayer.h"

namespace weft::nn {

struct FeedForwardOptions {
  int64_t dim = 0;    // D
  int64_t width = 0;  // F
  int64_t layer = 0;  // index of the block; part of the dropout site
  kernels::Activation activation = kernels::Activation::kGelu;
  bool is_gated = false;  // a second projection multiplies the activated one (arXiv:2002.05202)
  bool has_bias = true;
  double dropout = 0;  // on the F-wide activations (BERT has none)
  int64_t chunk = 0;   // tokens whose activations exist at the same time; 0: all
};

/// Changes each token by itself.
class FeedForward : public Sublayer {
 public:
  bool mixes_tokens() const override { return false; }
};

using FeedForwardDefinition = ComponentDefinition<FeedForward, FeedForwardOptions>;
using FeedForwardMaker = FeedForwardDefinition::Maker;
using FeedForwardChoice = ComponentChoice<FeedForward, FeedForwardOptions>;

/// The values of `model.feed_forward.type`.
const Registry<FeedForwardDefinition>& feed_forward_types();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_feed_forward(const FeedForwardDefinition& definition);

/// Type `standard`: two projections, or three if it is gated.
std::shared_ptr<FeedForward> make_standard_feed_forward(const FeedForwardOptions& options);

// The readers of the feed-forward types that need no header of their own.

/// the largest of several projections (arXiv:1302.4389)
FeedForwardMaker read_maxout_feed_forward(config::Section& section);

}  // namespace weft::nn
