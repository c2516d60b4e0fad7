#include "nn/position/position.h"

#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

PositionMaker read_no_position(config::Section& /*section*/) {
  return [](const PositionOptions&) { return std::make_shared<Position>(); };
}

Registry<PositionDefinition>& position_registry() {
  static Registry<PositionDefinition> registry(
      "position type", {
                           {{"learned", read_learned_position}},
                           {{"axial", read_axial_position}},
                           {{"sinusoidal", read_sinusoidal_position}},
                           {{"rotary", read_rotary_position}},
                           {{"t5", read_t5_bias}, /*has_limit=*/false},
                           {{"alibi", read_alibi}, /*has_limit=*/false},
                           {{"shaw", read_shaw_position}, /*has_limit=*/false},
                           {{"transformer_xl", read_transformer_xl_position}, /*has_limit=*/false},
                           {{"disentangled", read_disentangled_position}, /*has_limit=*/false},
                           {{"tupe", read_tupe_position}},
                           {{"convolutional", read_convolutional_position}, /*has_limit=*/false},
                           {{"none", read_no_position}, /*has_limit=*/false},
                       });
  return registry;
}

}  // namespace

const Registry<PositionDefinition>& position_types() { return position_registry(); }

void register_position(const PositionDefinition& definition) {
  position_registry().add(definition);
}

kernels::RotaryOptions rotary_of(const Positions& positions, bool is_local) {
  kernels::RotaryOptions rotary;
  for (const auto& position : positions) {
    if (position->rotary.theta == 0) {
      continue;
    }
    TORCH_CHECK(rotary.theta == 0, "queries and keys can have only one rotation by position");
    rotary = position->rotary;
    rotary.theta = is_local && position->local_theta > 0 ? position->local_theta : rotary.theta;
  }
  return rotary;
}

}  // namespace weft::nn
