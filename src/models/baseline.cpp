#include "models/baseline.h"

#include <utility>

#include "models/config/family.h"

namespace weft::models {

Baseline::Baseline(ModelOptions options) : options_(std::move(options)) {
  TORCH_CHECK(options_.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options_.family, options_.head), word_of(options_.family),
              " does not support this head");
}

}  // namespace weft::models
