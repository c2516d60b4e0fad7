#include "nn/position/position.h"

#include "nn/position/learned_position.h"
#include "nn/position/rotary_position.h"
#include "nn/position/sinusoidal_position.h"

namespace weft::nn {

namespace {

class NoPosition : public Position {
 public:
  PositionRows rows(const kernels::Layout& /*layout*/) override { return {}; }
};

}  // namespace

std::shared_ptr<Position> make_position(const PositionOptions& options) {
  switch (options.type) {
    case PositionType::kLearned:
      return std::make_shared<LearnedPosition>(options);
    case PositionType::kRotary:
      return std::make_shared<RotaryPosition>(options);
    case PositionType::kSinusoidal:
      return std::make_shared<SinusoidalPosition>(options);
    case PositionType::kNone:
      return std::make_shared<NoPosition>();
  }
  TORCH_CHECK(false, "unknown position encoding");
}

const config::Choices<PositionType>& position_types() {
  static const config::Choices<PositionType> kTypes = {{"learned", PositionType::kLearned},
                                                       {"rotary", PositionType::kRotary},
                                                       {"sinusoidal", PositionType::kSinusoidal},
                                                       {"none", PositionType::kNone}};
  return kTypes;
}

}  // namespace weft::nn
