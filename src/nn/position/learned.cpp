#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

class LearnedPosition : public PositionEmbedding {
 public:
  explicit LearnedPosition(const PositionOptions& options) : options_(options) {
    weight_ =
        register_parameter("weight", at::empty({options.offset + options.length, options.dim}));
  }

  PositionRows rows(const kernels::Layout& layout) override {
    TORCH_CHECK(layout.position_limit <= options_.length, "a sequence of ", layout.position_limit,
                " tokens is longer than the model's maximum of ", options_.length, " positions");
    if (options_.offset == 0) {
      return {.table = weight_, .rows = layout.positions};
    }
    return {.table = weight_, .rows = layout.positions + options_.offset};
  }

 private:
  PositionOptions options_;
  at::Tensor weight_;  // (offset + length, D)
};

}  // namespace

std::shared_ptr<Position> make_learned_position(const PositionOptions& options) {
  return std::make_shared<Position>(
      Position{.embedding = std::make_shared<LearnedPosition>(options)});
}

PositionMaker read_learned_position(config::Section& /*section*/) { return make_learned_position; }

}  // namespace weft::nn
