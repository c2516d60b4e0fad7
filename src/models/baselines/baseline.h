#pragma once

#include <utility>

#include "models/config/family.h"
#include "models/model.h"

namespace weft::models {

/// A model that classifies whole sequences and has no other head.
class Baseline : public Model {
 public:
  explicit Baseline(ModelOptions options) : options_(std::move(options)) {
    TORCH_CHECK(options_.vocabulary > 0, "a model needs a vocabulary");
    TORCH_CHECK(has_head(options_.family, options_.head), word_of(options_.family),
                " does not support this head");
  }

  const ModelOptions& options() const override { return options_; }

 private:
  ModelOptions options_;
};

}  // namespace weft::models
