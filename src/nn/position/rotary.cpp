#include "base/string_util.h"
#include "nn/position/position_types.h"

namespace weft::nn {

int64_t rotary_width(const RotaryPositionOptions& rotary, int64_t head_dim) {
  return rotary.partial_factor < 1
             ? static_cast<int64_t>(static_cast<double>(head_dim) * rotary.partial_factor)
             : head_dim;
}

PositionMaker rotary_position(const RotaryPositionOptions& rotary) {
  return [rotary](const PositionOptions& options) {
    return std::make_shared<Position>(
        Position{.rotary = {.width = rotary_width(rotary, options.head_dim),
                            .theta = rotary.theta,
                            .scaling = rotary.scaling},
                 .local_theta = rotary.local_theta});
  };
}

PositionMaker read_rotary_position(config::Section& section) {
  RotaryPositionOptions rotary;
  section.read("rope_theta", rotary.theta,
               {.help = "Base of the RoPE wavelengths (theta).", .range = config::above(1)});
  section.read("partial_rotary_factor", rotary.partial_factor,
               {.help = "Fraction of the features of each head that are rotated.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  return [rotary, section](const PositionOptions& options) {
    const auto width = rotary_width(rotary, options.head_dim);
    if (width < 2 || width % 2 != 0) {
      section.fail("type", str_cat("rotary rotates ", width, " of the ", options.head_dim,
                                   " features of a head, must be an even number of at least 2"));
    }
    return rotary_position(rotary)(options);
  };
}

}  // namespace weft::nn
