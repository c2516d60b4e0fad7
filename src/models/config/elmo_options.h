#pragma once

#include <cstdint>
#include <optional>

#include "nn/component.h"

namespace weft::nn {
struct CellOptions;
class RecurrentCell;
}  // namespace weft::nn

namespace weft::models {

/// ELMo; ModelOptions::dim is the width of both directions together, ModelOptions::layers the
/// number of recurrent layers of each.
struct ElmoOptions {
  std::optional<nn::ComponentChoice<nn::RecurrentCell, nn::CellOptions>> cell = {};  // set always
  int64_t width = 0;               // of the cells' states before a projection; 0: dim / 2
  bool has_residuals = true;       // from each layer to the next
  bool normalizes_layers = false;  // before they are mixed

  bool operator==(const ElmoOptions&) const = default;
};

}  // namespace weft::models
