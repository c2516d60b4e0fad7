#pragma once

#include "nn/feed_forward/feed_forward.h"

/// The readers of the feed-forward types that need no header of their own.
namespace weft::nn {

/// the largest of several projections (arXiv:1302.4389)
FeedForwardMaker read_maxout_feed_forward(config::Section& section);

}  // namespace weft::nn
