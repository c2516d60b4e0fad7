#pragma once

namespace weft::nn {

/// What training skips at random.
struct StochasticDepth {
  double drop_path_rate = 0;  // probability for a sequence and a sub-layer (nn/depth/drop_path.h)
  bool is_constant = false;   // the same in all layers, else growing linearly from 0 to the rate
  double layerdrop = 0;       // probability for a layer and a step (arXiv:1909.11556)

  bool operator==(const StochasticDepth&) const = default;
};

}  // namespace weft::nn
